# SPDX-License-Identifier: GPL-2.0-or-later
"""The launcher's own parts, without a VM."""

import base64
import os
import signal
import socket
import subprocess
import threading

import pytest

from lablib import agent, apt, state, stock_qemu, topology
from lablib.ui import LabError


@pytest.fixture
def changed(tmp_path):
    """Load the two-vm topology with a piece of its text replaced."""
    def load(old, new):
        text = (topology.DIRECTORY / "two-vm.toml").read_text()
        assert old in text
        file = tmp_path / "changed.toml"
        file.write_text(text.replace(old, new, 1))
        return topology.load(str(file))
    return load


def test_every_topology_loads():
    assert topology.DEFAULT in topology.names()
    for name in topology.names():
        assert topology.load(name).name == name


def test_attributes_keep_the_order_of_the_file():
    names = list(topology.load("two-vm").function.attributes)
    # configfs refuses the size of a window before the number of windows.
    assert names.index("num_mws") < names.index("mw1")


@pytest.mark.parametrize("old, new, word", [
    ("cpus = 2", "cpus = 0", "cpus"),
    ("cpus = 2", "cpus = true", "cpus"),
    ("cpus = 2", "cpu-count = 2", "lacks 'cpus'"),
    ('memory = "1G"', 'memory = "1 GB"', "512M"),
    ('memory = "1G"', 'memory = "1G"\ncolour = 1', "colour"),
    ("completion-timeout = 2000", "completion-timeout = -1", "0 or more"),
    ("10.77.0.2/24", "10.78.0.2/24", "one network"),
    ("10.77.0.2/24", "10.77.0.1/24", "same address"),
    ("10.77.0.2/24", "10.77.0.300/24", "address"),
    ("db_count = 16", '"../x" = 16', "configfs"),
    ('driver = "pci_epf_vntb"', 'driver = "x; reboot"', "driver"),
    ("[cable]", "[cable", "changed.toml"),
    ("msi-parent = true", 'qemu = "stock"', "qemu"),
    ("[rc]", '[rc]\nqemu = "theirs"', "theirs"),
])
def test_mistakes_are_named(changed, old, new, word):
    with pytest.raises(LabError) as e:
        changed(old, new)
    assert word in str(e.value)
    assert "\n" not in str(e.value)


def program(tmp_path, script):
    """An executable that is a shell script."""
    file = tmp_path / "qemu-system-aarch64"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


# What a QEMU answers to --version, -cpu help and -device vfio-user-pci,help
QEMU = """case "$*" in
--version) echo 'QEMU emulator version 11.1.3 (Debian)';;
*-cpu*) echo 'Available CPUs:'; echo '  cortex-a57';;
*vfio-user-pci,help) echo 'socket=<SocketAddress>';;
esac"""


def test_rc_emulator_is_known(tmp_path):
    path = program(tmp_path, QEMU)
    assert stock_qemu.check(path) == stock_qemu.Emulator(path, "11.1.3")


@pytest.mark.parametrize("script, word", [
    ("echo hello", "no QEMU"),
    ("exit 1", "no QEMU"),
    (QEMU.replace("cortex-a57", "Cascadelake"), "no aarch64 machine"),
    (QEMU.replace("11.1.3", "10.0.13").replace("socket", "Device not found"),
     "QEMU 10.0.13 has no device vfio-user-pci"),
], ids=["another program", "one that fails", "another CPU", "no device"])
def test_programs_that_cannot_play_the_rc(tmp_path, script, word):
    path = program(tmp_path, script)
    with pytest.raises(LabError, match=word) as e:
        stock_qemu.check(path)
    assert str(path) in str(e.value)
    assert "\n" not in str(e.value)


def test_rc_emulator_that_may_not_be_executed(tmp_path):
    path = program(tmp_path, QEMU)
    path.chmod(0o644)
    with pytest.raises(LabError, match="may not be executed"):
        stock_qemu.check(path)
    with pytest.raises(LabError, match="no such program"):
        stock_qemu.check(tmp_path / "none")
    path.chmod(0o755)
    path.write_bytes(b"\x7fELF, but not really")
    with pytest.raises(LabError, match="[Ff]ormat"):
        stock_qemu.check(path)


def test_mirror_without_an_rc_emulator(tmp_path, monkeypatch):
    def none(suite, _base, _tar):
        raise apt.NotInSuite(suite)
    monkeypatch.setattr(stock_qemu.paths, "CACHE", tmp_path)
    monkeypatch.setattr(stock_qemu, "_download", none)
    with pytest.raises(stock_qemu.NotAvailable) as e:
        stock_qemu.fetch()
    for suite, _base in stock_qemu.SUITES:
        assert suite in str(e.value)
    assert "--rc-qemu" in str(e.value)
    assert list((tmp_path / "stock-qemu").iterdir()) == []


def test_process_is_told_from_a_later_one_with_its_pid():
    with subprocess.Popen(["sleep", "60"]) as child:
        process = state.Process.of(child.pid)
        assert process.alive()
        stranger = state.Process(child.pid, process.start - 1)
        assert not stranger.alive()
        stranger.send(signal.SIGKILL)
        assert child.poll() is None
        process.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert not process.alive()


def test_sockets_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv("VNTB_LAB_SOCKET_DIR", "/tmp")
    made = state.make_sockets()
    assert os.stat(made).st_mode & 0o777 == 0o700
    os.rmdir(made)


class FakeGuest:
    """The guest's end of an agent socket, scripted by a test."""

    def __init__(self, path, script):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(1)
        self.lines = []
        self.thread = threading.Thread(target=self._serve, args=(script,),
                                       daemon=True)
        self.thread.start()

    def _serve(self, script):
        peer, _ = self.server.accept()
        # What an earlier session left unread.
        peer.sendall(b"O 5 aGVsb")
        for line in peer.makefile("rb"):
            self.lines.append(line)
            if line.startswith(b"S "):
                peer.sendall(b"\n" + line)
            elif line == b"E\n":
                script(peer)


def said(kind, data):
    return b"%c %d %s\n" % (kind, len(data), base64.b64encode(data))


def test_agent_returns_output_and_status(tmp_path):
    def script(peer):
        peer.sendall(said(b"O", b"out\n") + said(b"R", b"err\n") + b"D 3\n")
    guest = FakeGuest(tmp_path / "a", script)
    with agent.Agent("ep", [tmp_path / "a"], 10) as session:
        result = session.run("cmd", stdin=b"x" * 30000, check=False)
    assert (result.status, result.stdout, result.stderr) == (3, "out\n",
                                                             "err\n")
    command = next(line for line in guest.lines if line.startswith(b"X"))
    assert command == said(b"X", b"cmd")
    typed = b"".join(base64.b64decode(line.split()[2])
                     for line in guest.lines if line.startswith(b"I"))
    assert typed == b"x" * 30000


def test_agent_tells_a_failed_command(tmp_path):
    FakeGuest(tmp_path / "a", lambda peer: peer.sendall(
        said(b"R", b"first\nno such thing\n") + b"D 1\n"))
    with agent.Agent("rc", [tmp_path / "a"], 10) as session:
        with pytest.raises(agent.CommandError) as e:
            session.run("ls x")
    assert str(e.value) == "rc: `ls x` failed with status 1: no such thing"


def test_agent_tells_that_the_vm_has_gone(tmp_path):
    FakeGuest(tmp_path / "a",
              lambda peer: peer.shutdown(socket.SHUT_RDWR))
    with agent.Agent("rc", [tmp_path / "a"], 10) as session:
        with pytest.raises(agent.AgentError):
            session.run("sleep 1")


def test_sessions_do_not_share_a_port(tmp_path):
    for name in "ab":
        FakeGuest(tmp_path / name, lambda peer: peer.sendall(b"D 0\n"))
    sockets = [tmp_path / "a", tmp_path / "b"]
    with agent.Agent("ep", sockets, 10), agent.Agent("ep", sockets, 10):
        with pytest.raises(agent.AgentError, match="in use"):
            agent.Agent("ep", sockets, 10)
