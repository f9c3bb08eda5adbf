# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent in a guest: what it does when something goes wrong there."""

import pytest

from lablib import agent

# The servers of the ports but the one that runs this.
OTHERS = """others() {
	main=$(ps -o ppid= $PPID)
	for p in $(pgrep -x vntb-agent); do
		[ $p = $PPID ] || [ $p = $main ] || echo $p
	done
}
"""


@pytest.fixture(scope="module")
def guest(make_pair):
    """One guest, booted."""
    with make_pair(cable=False) as pair:
        pair.start(("ep",))
        pair.ep.wait_boot(120)
        yield pair.ep


@pytest.mark.parametrize("end", ["sync", "hang-up", "signal"])
def test_command_ends_as_soon_as_it_has_begun(guest, end):
    command = agent._line("X", b"sleep 1; touch /tmp/survived")
    for _ in range(10):
        with guest.session() as session:
            last = {"sync": b"S x\n", "hang-up": b"", "signal": b"K 9\n"}[end]
            session._send(command + last)
            if end == "signal":
                # The end of the line that opened the session may come late.
                line = session._receive(None) or session._receive(None)
                assert line == b"D 137"
    # Whoever survived has written by now.
    guest.run("sleep 2; ! [ -e /tmp/survived ]")


def test_command_that_cannot_be_started_is_answered(guest):
    guest.run(OTHERS + 'for p in $(others); do prlimit -p $p -n8:8; done')
    with guest.session() as session:
        result = session.run("echo hello", check=False)
        assert result.status == 126
        assert "Too many open files" in result.stderr
        guest.run(OTHERS + 'for p in $(others); do prlimit -p $p -n99:99; '
                  'done')
        # The session is none the worse for it.
        assert session.output("echo hello") == "hello"


def test_port_whose_server_died_comes_back(guest):
    guest.run(OTHERS + "kill -KILL $(others)")
    sessions = [guest.session() for _ in range(agent.PORTS - 1)]
    try:
        assert [s.output("echo $((6 * 7))") for s in sessions] == ["42"] * 3
    finally:
        for session in sessions:
            session.close()
