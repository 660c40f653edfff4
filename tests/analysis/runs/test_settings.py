"""analysis.runs.settings: eras in words."""

from qdisclab.analysis.runs.settings import in_headers, in_words


def test_eras_are_words() -> None:
    assert in_words("2014c") == "Linux of 2014, by its code"
    assert in_words("2014 or modern@linux-7.2") == "Linux of 2014 or today's Linux, kernel 7.2"
    assert in_words("2013c-host_noise") == "Linux of 2013, by its code, without host noise"
    assert in_words("2014d") == "Linux of 2014, by all of its code"
    clock = "2014c-host_noise+ticks_4ms"
    assert in_words(clock) == "Linux of 2014, by its code, with a clock of 4 ms"
    assert in_words("–") == "–"
    assert in_headers("Linux of 2014c, CUBIC") == "Linux of 2014, by its code, CUBIC"
