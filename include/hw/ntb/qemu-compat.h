/*
 * Differences between the QEMU versions these models build with
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_NTB_QEMU_COMPAT_H
#define HW_NTB_QEMU_COMPAT_H

#define CABLE_QEMU_10_1 (QEMU_VERSION_MAJOR > 10 || \
                         (QEMU_VERSION_MAJOR == 10 && QEMU_VERSION_MINOR >= 1))

/*
 * 10.1 moved the memory API from exec/ to system/ and made class data and
 * interface lists const.
 */
#if CABLE_QEMU_10_1
#include "system/address-spaces.h"
#include "system/memory.h"
#include "system/ramblock.h"
#define CABLE_CONST const
#define CABLE_CLASS_DATA const void *
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "exec/ramblock.h"
#define CABLE_CONST
#define CABLE_CLASS_DATA void *
#endif

#endif /* HW_NTB_QEMU_COMPAT_H */
