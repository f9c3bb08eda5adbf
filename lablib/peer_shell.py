# SPDX-License-Identifier: GPL-2.0-or-later
"""
A shell from one guest into the other, for scripts that say `ssh HOST CMD`.

A lab with the option "peer_shell" has one more port of the EP's agent, wired to
a port of the RC. What goes over it is the agent's protocol
(guest-kernel/agent/vntb-agent.c); the script below speaks it.
"""

from lablib.vm import Vm

# Where the guest's PATH looks before it looks into the packages.
_PROGRAM = "/usr/local/bin/ssh"

_SSH = r"""#!/bin/bash
# ssh HOST COMMAND...: run COMMAND in the other VM. There is one other VM, so
# any HOST is it. Standard input is not passed on.
shift
for port in /sys/class/virtio-ports/*; do
	read -r name <"$port/name"
	[ "$name" = vntb-lab.peer ] && break
done
exec 3<>"/dev/${port##*/}" || exit 255

# Over ssh a command is given to the user's shell, and root's is bash.
command="$*"
command="exec bash -c ${command@Q}"
LC_ALL=C
nonce="S $$-$RANDOM"
# In one piece: the kernel spins until the host has taken what is written.
printf '\n%s\nX %d %s\nE\n' "$nonce" ${#command} \
	"$(printf %s "$command" | base64 -w0)" >&3

# What a command that was killed has left unread comes before our nonce.
while IFS= read -r line <&3; do
	[ "$line" = "$nonce" ] && break
done
while read -r kind length bytes <&3; do
	case $kind in
	O) base64 -d <<<"$bytes" ;;
	R) base64 -d <<<"$bytes" >&2 ;;
	D) exit "$length" ;;
	esac
done
exit 255
"""


def install(rc: Vm) -> None:
    """Give the RC an `ssh` whose host, whatever its name, is the EP."""
    rc.run(f"mkdir -p {_PROGRAM.rpartition('/')[0]} && cat >{_PROGRAM} && "
           f"chmod +x {_PROGRAM}", stdin=_SSH.encode())
