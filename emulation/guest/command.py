"""Commands of the user's, as root on a Debian system: `programs` with all `surroundings`."""

import programs
import surroundings


def run(*given):
    """Run it; `given` is the rig, the traffic and the status, or without a rig job and status."""
    if len(given) == 3:
        rig, traffic, status = given
    else:
        rig, traffic, status = None, given[0]["traffic"], given[1]
        status("booted")
    surroundings.make(rig)
    if "pairs" in traffic:
        import idle  # takes a rig, which not every command has

        idle.run(rig, traffic, status)
    else:
        programs.run(rig, traffic, status)
