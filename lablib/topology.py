# SPDX-License-Identifier: GPL-2.0-or-later
"""What a topology file says: the two VMs, the cable, the endpoint function."""

import dataclasses
import ipaddress
import re
import tomllib
from pathlib import Path
from typing import Any, Optional

from lablib import paths
from lablib.ui import LabError

DIRECTORY = paths.REPO / "configs" / "topologies"
DEFAULT = "two-vm"
ROLES = ("ep", "rc")
# The function drivers that make an NTB, with a network device on each side.
_NTB_DRIVERS = ("pci_epf_vntb",)
# Endpoint controllers by their name in [ep], and QEMU's name of each.
CONTROLLERS = {"rcar-gen4": "rcar-gen4-pcie-ep", "dw-plat": "dw-plat-pcie-ep"}
# What R-Car S4's DMA engine has in each direction.
DMA_CHANNELS = 4
# Register maps of dw-plat's DMA engine, and how many channels each can have in
# a direction.
DMA_MAPS = {"unrolled": 8, "legacy": 8, "hdma-compat": 8, "hdma-native": 64,
            "none": 0}


@dataclasses.dataclass(frozen=True)
class Vm:
    """
    One machine.  @memory is in MiB, @address an address with its prefix, None
    where there is no NTB.

    @controller is a key of CONTROLLERS for the EP and empty for the RC;
    @dma_channels is how many channels its DMA engine has in each direction;
    @dma_map is a key of DMA_MAPS where the controller leaves a choice.
    @qemu is "lab" for the one that the lab builds, "stock" for another.
    @parameters has, by module, what it is loaded with.
    """
    role: str
    cpus: int
    memory: int
    cpu: str
    address: Optional[ipaddress.IPv4Interface]
    modules: tuple[str, ...]
    msi_parent: bool
    controller: str
    dma_channels: int
    dma_map: Optional[str]
    qemu: str
    parameters: dict[str, dict[str, int]] = dataclasses.field(
        default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Function:
    """An endpoint function as configfs takes it, in the order of the file."""
    driver: str
    header: dict[str, int]
    attributes: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Topology:
    """
    A whole topology.  load() finds it again by its @name.

    @completion_timeout is in ms, 0 waits for ever; @removal_grace is in ms,
    0 removes a function as soon as the link is lost.  @patched is whether the
    kernel has the patches of guest-kernel in it.
    """
    name: str
    description: str
    completion_timeout: int
    removal_grace: int
    ep: Vm
    rc: Vm
    function: Function
    patched: bool = False

    def vm(self, role: str) -> Vm:
        """The machine that plays @role, "ep" or "rc"."""
        return self.ep if role == "ep" else self.rc

    @property
    def has_ntb(self) -> bool:
        """Whether the function is an NTB, with network devices on it."""
        return self.function.driver in _NTB_DRIVERS


class _Table:
    """A table of the file that knows where it is, for errors that say so."""

    def __init__(self, file: Path, where: str, values: Any) -> None:
        self.file = file
        self.where = where
        if not isinstance(values, dict):
            raise self.error("should be a table")
        self.values = dict(values)

    def error(self, text: str) -> LabError:
        return LabError(f"{self.file}: [{self.where}] {text}")

    def take(self, key: str, kind: type, *default: Any) -> Any:
        if key not in self.values:
            if default:
                return default[0]
            raise self.error(f"lacks '{key}'")
        value = self.values.pop(key)
        # bool is an int in Python, not in a topology.
        if type(value) is not kind:
            raise self.error(f"'{key}' should be a {kind.__name__}, "
                             f"not {value!r}")
        return value

    def table(self, key: str) -> "_Table":
        return _Table(self.file, f"{self.where}.{key}", self.take(key, dict))

    def numbers(self) -> dict[str, int]:
        for key in self.values:
            if not re.fullmatch(r"[a-z0-9_]+", key):
                raise self.error(f"'{key}' is no name of an attribute")
        return {key: self.take(key, int) for key in list(self.values)}

    def done(self) -> None:
        if self.values:
            raise self.error(f"has an unknown key '{next(iter(self.values))}'")


def _mebibytes(table: _Table, key: str) -> int:
    text = table.take(key, str)
    match = re.fullmatch(r"([1-9][0-9]*)([MG])", text)
    if not match:
        raise table.error(f"'{key}' should look like \"512M\" or \"1G\", "
                          f"not \"{text}\"")
    return int(match[1]) * (1024 if match[2] == "G" else 1)


def _address(table: _Table) -> ipaddress.IPv4Interface:
    try:
        return ipaddress.IPv4Interface(table.take("address", str))
    except ValueError as e:
        raise table.error(f"'address': {e}") from e


def _check_controller(table: _Table, vm: Vm) -> None:
    if vm.controller not in CONTROLLERS:
        raise table.error(f"'controller' should be one of "
                          f"{', '.join(CONTROLLERS)}, not "
                          f"\"{vm.controller}\"")
    if vm.dma_map and vm.controller != "dw-plat":
        raise table.error(f"'dma-map' is for the controller dw-plat: that of "
                          f"{vm.controller} is always unrolled")
    if vm.dma_map and vm.dma_map not in DMA_MAPS:
        raise table.error(f"'dma-map' should be one of {', '.join(DMA_MAPS)}, "
                          f"not \"{vm.dma_map}\"")
    most = DMA_MAPS[vm.dma_map or "unrolled"]
    if vm.dma_map != "none" and not 0 <= vm.dma_channels <= most:
        raise table.error(f"'dma-channels' should be 0 to {most}")


def _parameters(table: _Table) -> dict[str, dict[str, int]]:
    """[ep.parameters.MODULE]: numbers by the name of the parameter."""
    if "parameters" not in table.values:
        return {}
    modules = table.table("parameters")
    for name in modules.values:
        if not re.fullmatch(r"\w+", name):
            raise modules.error(f"'{name}' is no name of a module as the "
                                "kernel has it (with _ for -)")
    return {name: modules.table(name).numbers()
            for name in list(modules.values)}


def _vm(root: _Table, role: str, has_ntb: bool) -> Vm:
    table = root.table(role)
    modules = tuple(table.take("modules", list))
    if not all(isinstance(name, str) and re.fullmatch(r"[\w-]+", name)
               for name in modules):
        raise table.error("'modules' should be a list of module names")
    vm = Vm(role=role, cpus=table.take("cpus", int),
            memory=_mebibytes(table, "memory"), cpu=table.take("cpu", str),
            address=_address(table) if has_ntb else None, modules=modules,
            msi_parent=table.take("msi-parent", bool, True),
            controller=table.take("controller", str, "rcar-gen4")
            if role == "ep" else "",
            dma_channels=table.take("dma-channels", int, DMA_CHANNELS)
            if role == "ep" else 0,
            dma_map=table.take("dma-map", str, None)
            if role == "ep" else None,
            qemu=table.take("qemu", str, "lab"),
            parameters=_parameters(table))
    if has_ntb and role == "rc" and not modules:
        raise table.error("'modules' should name at least the driver of the "
                          "function")
    if vm.qemu not in (("lab", "stock") if role == "rc" else ("lab",)):
        raise table.error(f"has no 'qemu' called \"{vm.qemu}\"")
    if not 1 <= vm.cpus <= 16:
        raise table.error("'cpus' should be 1 to 16")
    if role == "ep":
        _check_controller(table, vm)
    table.done()
    return vm


def _function(root: _Table) -> Function:
    table = root.table("function")
    function = Function(driver=table.take("driver", str),
                        header=table.table("header").numbers(),
                        attributes=table.table("attributes").numbers())
    for key in ("vendorid", "deviceid"):
        if not 0 <= function.header.get(key, -1) <= 0xffff:
            raise table.error(f"'header' should have a '{key}', 0 to 0xffff")
    for key, value in {**function.header, **function.attributes}.items():
        if not 0 <= value < 1 << 64:
            raise table.error(f"'{key}' should be 0 or more, in 64 bits")
    if not re.fullmatch(r"\w+", function.driver):
        raise table.error(f"'{function.driver}' is no name of a function "
                          "driver")
    table.done()
    return function


def _check_addresses(root: _Table, ep: Optional[ipaddress.IPv4Interface],
                     rc: Optional[ipaddress.IPv4Interface]) -> None:
    if ep is None or rc is None:
        return
    if ep.network != rc.network:
        raise root.error("ep and rc should have addresses of one network")
    if ep.ip == rc.ip:
        raise root.error("ep and rc have the same address")


def _parse(name: str, file: Path, values: dict[str, Any]) -> Topology:
    root = _Table(file, "topology", values)
    description = root.take("description", str)
    cable = root.table("cable")
    timeout = cable.take("completion-timeout", int)
    if timeout < 0:
        raise cable.error("'completion-timeout' should be 0 or more, in ms")
    grace = cable.take("removal-grace", int)
    if grace < 0:
        raise cable.error("'removal-grace' should be 0 or more, in ms")
    cable.done()
    kernel = root.table("kernel") if "kernel" in values else None
    patched = kernel.take("patches", bool, False) if kernel else False
    if kernel:
        kernel.done()
    function = _function(root)
    has_ntb = function.driver in _NTB_DRIVERS
    topology = Topology(name=name, description=description,
                        completion_timeout=timeout, removal_grace=grace,
                        ep=_vm(root, "ep", has_ntb),
                        rc=_vm(root, "rc", has_ntb), function=function,
                        patched=patched)
    root.done()
    _check_addresses(root, topology.ep.address, topology.rc.address)
    return topology


def names() -> list[str]:
    """The topologies of this checkout."""
    return sorted(file.stem for file in DIRECTORY.glob("*.toml"))


def load_ntb(name: str) -> Topology:
    """load() for those who send traffic: @LabError when there is no NTB."""
    topology = load(name)
    if not topology.has_ntb:
        raise LabError(f"topology {topology.name} has no NTB to send traffic "
                       f"through; `./lab up --topology {name}` starts it")
    return topology


def load(name: str) -> Topology:
    """
    Read topology @name of configs/topologies, or the file @name when it ends
    in ".toml".
    """
    file = Path(name) if name.endswith(".toml") else DIRECTORY / f"{name}.toml"
    try:
        with open(file, "rb") as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        if name.endswith(".toml"):
            raise LabError(f"{file}: there is no such file") from None
        raise LabError(f"there is no topology '{name}'; there are: "
                       f"{', '.join(names())} (or give a file that ends in "
                       ".toml)") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise LabError(f"{file}: {e}") from e
    # What load() finds again, whatever the directory of the next command.
    own = file.parent == DIRECTORY and not name.endswith(".toml")
    return _parse(name if own else str(file.resolve()), file, values)
