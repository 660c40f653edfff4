"""Scripts of Python 2: what is translated as it is loaded, and by what it is called."""

import subprocess
import sys
from pathlib import Path

from qdisclab.emulation.machine.guestcode import FOLDER
from tests import captured

SCRIPT = """\
#!/usr/bin/python
import os, sys
import part
print >>sys.stderr, "to standard error"
for i in xrange(2):
    print i, part.name(),
print sys.argv[1:], __name__, os.environ["PATH"].split(":")[0]
exec "x = 6 * 7"
print x
"""
PART = "from StringIO import StringIO\n\ndef name():\n    return StringIO(u'part').read()\n"


def python2(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "python2.py"), *words]
    return captured(command, cwd=folder)


def test_a_script_and_what_it_imports_are_translated(tmp_path: Path) -> None:
    for name, text in {"main.py": SCRIPT, "part.py": PART}.items():
        (tmp_path / name).write_text(text)
    done = python2(tmp_path, "main.py", "-x", "3")
    assert done.stderr == "to standard error\n"
    assert done.stdout == "0 part 1 part ['-x', '3'] __main__ /usr/local/lib/python2\n42\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.py", "part.py"]
    assert (tmp_path / "main.py").read_text() == SCRIPT


def test_what_is_no_script_is_refused(tmp_path: Path) -> None:
    done = python2(tmp_path, "-c", "print 1")
    assert done.returncode == 1
    assert "python2: name a script" in done.stderr
