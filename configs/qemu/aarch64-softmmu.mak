# SPDX-License-Identifier: GPL-2.0-or-later
# The devices of the lab's qemu-system-aarch64: the `virt` machine, what a
# guest is driven with, what the benchmarks compare the cable to, and ours.
CONFIG_ARM_VIRT=y
CONFIG_ARM_GICV3=y
CONFIG_PCIE_PORT=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_BLK=y
CONFIG_PCI_TESTDEV=y
CONFIG_EDU=y
CONFIG_IVSHMEM_DEVICE=y
CONFIG_PL330=y
# The ACPI tables of `virt` link against these since QEMU 10.2.
CONFIG_PXB=y
CONFIG_CXL=y
CONFIG_CXL_MEM_DEVICE=y
CONFIG_PCIE_CABLE_RC=y
CONFIG_DW_PLAT_PCIE_EP=y
CONFIG_RCAR_GEN4_PCIE_EP=y
