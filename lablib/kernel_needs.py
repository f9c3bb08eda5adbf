# SPDX-License-Identifier: GPL-2.0-or-later
"""What a topology needs of the guest kernel; told before anything boots."""

import gzip
import lzma
import struct
import zlib
from pathlib import Path
from typing import Callable, Optional

from lablib.setup import Built
from lablib.topology import Topology
from lablib.ui import LabError

# Compressed modules that the standard library can read; others are not looked
# into, their guest then says what it misses.
_READERS: dict[str, Callable[[bytes], bytes]] = {
    ".ko": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}

# ntb_netdev registers with the transports that there are when it starts
# (ntb_transport_register_client_dev() of Linux), and at boot there are none.
_NOT_BUILT_IN = ("ntb_netdev",)


class Lacking(LabError):
    """The kernel cannot do what the topology is for; the text names it."""


def _name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")


class _Modules:
    """What is in lib/modules/VERSION of a kernel."""

    def __init__(self, built: Built) -> None:
        self.top = built.modules / "lib" / "modules" / built.kernel_release
        self.files = {_name(path.name): path
                      for path in self.top.rglob("*.ko*")}
        # None: nobody knows what is built in.
        self.built_in: Optional[set[str]] = None
        listed = self.top / "modules.builtin"
        if listed.is_file():
            self.built_in = {_name(line)
                             for line in listed.read_text("utf-8").split()}

    def content(self, name: str) -> Optional[bytes]:
        """The module @name; None when it is no file that we can read."""
        path = self.files.get(name)
        if path is None or path.suffix not in _READERS:
            return None
        try:
            return _READERS[path.suffix](path.read_bytes())
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as e:
            raise LabError(f"{path}: damaged ({e}); install the kernel's "
                           "modules again") from e


def _absent(modules: _Modules, tp: Topology) -> list[str]:
    if modules.built_in is None:
        return []
    names = [tp.function.driver, *tp.ep.modules, *tp.rc.modules]
    return [name for name in dict.fromkeys(names)
            if name not in modules.files and name not in modules.built_in]


def _features(modules: _Modules, tp: Topology) -> list[str]:
    """Parts of drivers that came later than the drivers themselves."""
    found = []
    function = modules.content(tp.function.driver)
    if function is not None:
        # configfs takes its names from strings of the module.
        absent = [name for name in tp.function.attributes
                  if name.encode() + b"\0" not in function]
        if absent:
            found.append(f"{tp.function.driver} has no {', '.join(absent)}")
    host = modules.content(tp.rc.modules[0]) if tp.rc.modules else None
    if host is not None:
        # The start of a struct pci_device_id.
        header = tp.function.header
        vendor, device = header["vendorid"], header["deviceid"]
        if struct.pack("<II", vendor, device) not in host:
            found.append(f"{tp.rc.modules[0]} does not know "
                         f"{vendor:04x}:{device:04x}")
    return found + _parameters(modules, tp)


def _parameters(modules: _Modules, tp: Topology) -> list[str]:
    found = []
    for vm in (tp.ep, tp.rc):
        for name, values in vm.parameters.items():
            module = modules.content(name)
            found += [f"{name} has no parameter {key}" for key in values
                      if module is not None
                      and b"parmtype=" + key.encode() + b":" not in module]
    return list(dict.fromkeys(found))


def _with_patches(tp: Topology) -> str:
    return " with guest-kernel/patches in it" if tp.patched else ""


def check(built: Built, tp: Topology) -> None:
    """@Lacking when the drivers of @tp are not there or cannot work."""
    modules = _Modules(built)
    release = built.kernel_release
    boots = "`./lab up --no-ntb` boots it as it is"
    if not modules.files:
        raise Lacking(
            f"there are no modules of Linux {release} beside {built.kernel}, "
            f"and ntb_netdev works as a module only: add --kernel-modules "
            f"DIR, where DIR/lib/modules/{release} is; {boots}")
    absent = _absent(modules, tp)
    if absent:
        refused = (f" (it did not take {', '.join(built.kernel_missing)})"
                   if built.kernel_missing else "")
        raise Lacking(
            f"Linux {release} lacks {', '.join(absent)}: build them as "
            f"guest-kernel/config/ntb.fragment has them{refused}; {boots}")
    fixed = [name for name in _NOT_BUILT_IN
             if name in (modules.built_in or ())
             and name in (*tp.ep.modules, *tp.rc.modules)]
    if fixed:
        raise Lacking(f"{', '.join(fixed)} of Linux {release} is built in, it "
                      f"works as a module only (CONFIG_NTB_NETDEV=m); {boots}")
    features = _features(modules, tp)
    if features:
        raise Lacking(f"topology {tp.name} needs more than Linux {release} "
                      f"has{_with_patches(tp)}: {'; '.join(features)}; "
                      f"{boots}")
