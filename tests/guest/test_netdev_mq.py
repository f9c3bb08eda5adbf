# SPDX-License-Identifier: GPL-2.0-or-later
"""ntb_netdev with several queues, on either transport of the NTB."""

import re

import pytest

from conftest import ways
from lablib import kernel_log, netdev, topology, traffic, vntb
from lablib.agent import CommandError

# How many queues ntb_transport makes room for, and what a netdev may have.
QUEUES = 4
LIMIT = 64
# So many flows leave no queue out: (3/4)^96 is 1e-12.
FLOWS = 96


@pytest.fixture(scope="module", params=["two-vm-mq", "two-vm-edma"])
def both(request, make_pair):
    """A pair on each transport; patched_built is what both topologies want."""
    with make_pair(topology.load(request.param)) as running:
        running.boot()
        running.form()
        traffic.first_ping(running.rc, running.ep)
        yield running


@pytest.fixture
def four(both):
    """Both ends with four queues, and with one afterwards."""
    netdev.set_both_channels(both.ep, both.rc, QUEUES)
    yield both
    netdev.set_both_channels(both.ep, both.rc, 1)
    vntb.await_carrier(both.ep)
    vntb.await_carrier(both.rc)


def packets(vm, key, before):
    """The queues that moved packets since @before."""
    return {number for number, count in
            netdev.counted(vm, key, before).items() if count}


def send_udp(source, to, port, count):
    """@count small datagrams to @port of the other side, one flow."""
    with netdev.known(source, to):
        source.run(f"udp-seq send {to.spec.address.ip} {port} 1 {count} 64")


@pytest.fixture
def clsact(four):
    """Both netdevs with hooks for filters."""
    for vm in (four.ep, four.rc):
        vm.output(f"tc qdisc add dev {vntb.name(vm)} clsact")
    yield four
    for vm in (four.ep, four.rc):
        vm.output(f"tc qdisc del dev {vntb.name(vm)} clsact")


def test_one_queue_to_begin_with(both):
    for vm in (both.ep, both.rc):
        assert netdev.channels(vm) == (1, LIMIT)


def test_as_many_queues_as_the_transport_has(both):
    for vm in (both.ep, both.rc):
        netdev.set_channels(vm, QUEUES)
        assert netdev.channels(vm) == (QUEUES, LIMIT)
        with pytest.raises(CommandError):
            netdev.set_channels(vm, QUEUES + 1)
        assert netdev.channels(vm) == (QUEUES, LIMIT)
    for vm in (both.ep, both.rc):
        netdev.await_queues(vm, QUEUES)
        # A kernel without RPS shows the transmit queues only.
        queues = vm.output(f"ls -d /sys/class/net/{vntb.name(vm)}/queues/tx-*")
        assert len(queues.split()) == QUEUES
    traffic.first_ping(both.rc, both.ep)
    netdev.set_both_channels(both.ep, both.rc, 1)
    for source, to in ways(both):
        assert traffic.ping(source, to, 10).received == 10


def test_nothing_is_lost_while_queues_come_and_go(both):
    """A file crosses while both ends change their number of queues."""
    def change():
        for count in (2, 4, 1, 3, 1):
            netdev.set_both_channels(both.ep, both.rc, count)
    for source, to in ways(both):
        file = traffic.transfer(source, to, 64, meanwhile=change)
        assert file.received_sha256 == file.sent_sha256
    for vm in (both.ep, both.rc):
        assert netdev.channels(vm)[0] == 1


def test_iperf3_survives_changes(both):
    def change():
        for count in (4, 2, 4, 1):
            netdev.set_both_channels(both.ep, both.rc, count)
    for source, to in ways(both):
        got = traffic.iperf(source, to, "tcp", seconds=8, streams=4,
                            meanwhile=change)
        assert got.gbit_s > 0


def test_flows_spread_over_the_queues(four):
    for source, to in ways(four):
        sent, received = netdev.queues(source), netdev.queues(to)
        result = netdev.sequence(source, to, FLOWS, 10, 1000)
        assert result.ok(), result
        assert packets(source, "tx_pkts", sent) == set(range(QUEUES))
        assert packets(to, "rx_pkts", received) == set(range(QUEUES))


@pytest.mark.parametrize("queue", range(QUEUES))
def test_tc_steers_a_flow_to_a_queue(clsact, queue):
    """skbedit queue_mapping: what both transports count proves the queue."""
    port, count = 7000 + queue, 200
    for source, to in ways(clsact):
        name = vntb.name(source)
        source.output(f"tc filter add dev {name} egress protocol ip flower "
                      f"ip_proto udp dst_port {port} "
                      f"action skbedit queue_mapping {queue}")
        before = netdev.queues(source), netdev.queues(to)
        send_udp(source, to, port, count)
        # The last one has arrived when an answer to what follows it has: a
        # queue keeps its order, and ICMP goes the same way.
        source.output(f"tc filter add dev {name} egress protocol ip flower "
                      f"ip_proto icmp action skbedit queue_mapping {queue}")
        traffic.ping(source, to, 3)
        sent = netdev.counted(source, "tx_pkts", before[0])
        received = netdev.counted(to, "rx_pkts", before[1])
        others = set(range(QUEUES)) - {queue}
        assert sent[queue] >= count and received[queue] >= count
        # ARP and the like find a queue of their own.
        assert all(sent[n] < count / 10 for n in others), sent
        assert all(received[n] < count / 10 for n in others), received


def test_the_receive_queue_is_recorded(clsact):
    """What the driver put into the skb, by the kernel's fanout by queue."""
    count = 50
    for source, to in ways(clsact):
        name = vntb.name(source)
        for queue in range(QUEUES):
            port = 7100 + queue
            source.output(f"tc filter add dev {name} egress protocol ip flower "
                          f"ip_proto udp dst_port {port} "
                          f"action skbedit queue_mapping {queue}")
            log = f"/tmp/rx-queues.{queue}"
            to.run(f"setsid rx-queues {vntb.name(to)} {port} {count} >{log} "
                   "2>&1 </dev/null & "
                   f"until grep -qs . {log}; do busybox usleep 10000; done")
            send_udp(source, to, port, count)
            said = to.output(f"n=2000; until grep -q '^[n0-9]' {log}; do "
                             "n=$((n - 1)); [ $n -gt 0 ] || break; "
                             f"busybox usleep 10000; done; cat {log}; rm {log}")
            assert said.splitlines() == ["ready", f"{queue} {count}"]


def test_numbered_datagrams(four):
    for source, to in ways(four):
        for size, count in ((64, 500), (1400, 300), (65400, 40)):
            result = netdev.sequence(source, to, 8, count, size)
            assert result.ok(), (size, result)


def test_mtu_changes_with_four_queues(four):
    before = netdev.mtu(four.rc)
    for size in (1500, 9000, before):
        for vm in (four.ep, four.rc):
            netdev.set_mtu(vm, size)
        for vm in (four.ep, four.rc):
            netdev.await_queues(vm, QUEUES)
            vntb.await_carrier(vm)
            assert netdev.mtu(vm) == size
        for source, to in ways(four):
            # The largest that is not cut into fragments.
            said = source.output("ping -M do -c 3 -w 30 -s "
                                 f"{size - 28} {to.spec.address.ip}")
            assert re.search(r" 0% packet loss", said), said
            assert traffic.transfer(source, to, 2).ok()


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_link_flaps_under_load(four, role):
    def flap():
        for _ in range(3):
            vntb.set_link(four.vm(role), "down")
            vntb.set_link(four.vm(role), "up")
            for vm in (four.ep, four.rc):
                vntb.await_carrier(vm)
                netdev.await_queues(vm, QUEUES)
    for source, to in ways(four):
        file = traffic.transfer(source, to, 64, meanwhile=flap)
        assert file.received_sha256 == file.sent_sha256
        # The last flap may have been after the file: few packets wait for ARP.
        traffic.first_ping(source, to)
        result = netdev.sequence(source, to, 8, 50, 1400)
        assert result.ok(), result


@pytest.mark.parametrize("role", ["ep", "rc"])
def test_kernels_stay_sane(both, role):
    vm = both.vm(role)
    kernel_log.check_leaks(vm)
    kernel_log.check(vm)
