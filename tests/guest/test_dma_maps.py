# SPDX-License-Identifier: GPL-2.0-or-later
"""
The register maps of dw-plat's DMA engine: which the kernel's driver knows.

Each is that of an EP with pci-epf-test, whose topology has dma-map.
"""

import dataclasses
import re
from typing import Optional

import pytest

from lablib import pci_endpoint, selftests, topology


@dataclasses.dataclass(frozen=True)
class Engine:
    """A register map; what dw_pcie_edma_detect() of Linux 7.3 says of it."""
    dma_map: str
    said: Optional[str]
    channels: int
    works: bool


ENGINES = [
    Engine("legacy", "unroll F, 4 wr, 4 rd", 8, True),
    # dw_pcie_edma_find_mf() takes it for EDMA_MF_EDMA_UNROLL, with which
    # dw_edma_v0_core_ch_enable() leaves the channels without power.
    Engine("hdma-compat", "unroll T, 4 wr, 4 rd", 8, False),
    # dw_pcie_edma_find_channels() finds none: "HDMA platforms with native CSR
    # mapping doesn't support autodetect".
    Engine("hdma-native", None, 0, False),
    Engine("none", None, 0, False),
]


@pytest.fixture(scope="module", params=ENGINES, ids=lambda e: e.dma_map)
def engine(request, built, make_pair):
    """A pair with the kernel's test function and that engine in the EP."""
    with make_pair(topology.load("pci-endpoint-dw-plat"),
                   dma_map=request.param.dma_map) as both:
        both.boot()
        both.form()
        pci_endpoint.join(both.rc, both.topology)
        yield both, request.param


def test_what_the_driver_makes_of_the_engine(engine):
    both, expected = engine
    said = re.search(r"dw-pcie .*eDMA: (.*)", both.ep.output("dmesg"))
    assert (said and said[1]) == expected.said
    assert pci_endpoint.dma_channels(both.ep) == expected.channels


@pytest.mark.parametrize("test", ["READ_TEST", "WRITE_TEST"])
def test_transfers_of_the_engine(engine, built, test):
    both, expected = engine
    try:
        program = selftests.build(built.kernel_src,
                                  "pci_endpoint")["pci_endpoint_test"]
    except selftests.NoSelftests as e:
        pytest.skip(str(e))
    both.rc.run("cat >/tmp/test && chmod +x /tmp/test", stdin=program)
    # The processor's copies work whatever the engine.
    variants = ["memcpy", "dma"] if expected.works else ["memcpy"]
    names = [case.name
             for case in selftests.cases(built.kernel_src, "pci_endpoint")
             if case.variant in variants and case.test == test]
    assert len(names) == len(variants)
    for name in names:
        said = both.rc.run(f"exec /tmp/test -r {name} 2>&1", timeout=60,
                           check=False).stdout
        outcome = selftests.outcome(said, name)
        assert outcome.status == "ok", outcome.said
