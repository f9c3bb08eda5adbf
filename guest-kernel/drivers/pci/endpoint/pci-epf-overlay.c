// SPDX-License-Identifier: GPL-2.0
/*
 * BARs that show other memory in places than their own
 *
 * An EPC maps parts of a BAR when it is told of the whole BAR without a gap.
 * An endpoint function driver rather thinks of windows here and there. What is
 * between them shows the memory of the BAR itself.
 */

#include <linux/export.h>
#include <linux/overflow.h>
#include <linux/pci-epc.h>
#include <linux/pci-epf-overlay.h>
#include <linux/slab.h>
#include <linux/sort.h>

static int pci_epf_overlay_cmp(const void *a, const void *b)
{
	const struct pci_epf_overlay *l = a, *r = b;

	return cmp_int(l->offset, r->offset);
}

static void pci_epf_submap_add(struct pci_epf_bar_submap *map,
			       unsigned int *num, dma_addr_t addr, size_t size)
{
	struct pci_epf_bar_submap *last = *num ? &map[*num - 1] : NULL;

	if (!size)
		return;

	/* Inbound windows are few: one is enough for what is contiguous. */
	if (last && last->phys_addr + last->size == addr) {
		last->size += size;
		return;
	}

	map[(*num)++] = (struct pci_epf_bar_submap) {
		.phys_addr = addr,
		.size = size,
	};
}

static int pci_epf_submap_build(const struct pci_epf_bar *epf_bar,
				const struct pci_epf_overlay *sorted,
				unsigned int num,
				struct pci_epf_bar_submap *map)
{
	unsigned int i, pieces = 0;
	size_t end, at = 0;

	for (i = 0; i < num; i++) {
		if (!sorted[i].size || sorted[i].offset < at ||
		    check_add_overflow(sorted[i].offset, sorted[i].size, &end) ||
		    end > epf_bar->size)
			return -EINVAL;

		pci_epf_submap_add(map, &pieces, epf_bar->phys_addr + at,
				   sorted[i].offset - at);
		pci_epf_submap_add(map, &pieces, sorted[i].addr,
				   sorted[i].size);
		at = end;
	}
	pci_epf_submap_add(map, &pieces, epf_bar->phys_addr + at,
			   epf_bar->size - at);

	return pieces;
}

static bool pci_epf_submap_same(const struct pci_epf_bar *epf_bar,
				const struct pci_epf_bar_submap *map,
				unsigned int num)
{
	unsigned int i;

	if (epf_bar->num_submap != num)
		return false;

	for (i = 0; i < num; i++)
		if (epf_bar->submap[i].phys_addr != map[i].phys_addr ||
		    epf_bar->submap[i].size != map[i].size)
			return false;

	return true;
}

/* Show the memory of the BAR itself or, should that fail, nothing at all. */
static void pci_epf_show_own(struct pci_epf *epf, struct pci_epf_bar *epf_bar)
{
	epf_bar->submap = NULL;
	epf_bar->num_submap = 0;
	if (!pci_epc_set_bar(epf->epc, epf->func_no, epf->vfunc_no, epf_bar))
		return;

	dev_warn(&epf->dev, "BAR%d: cannot drop overlays, switched off\n",
		 epf_bar->barno);
	pci_epc_clear_bar(epf->epc, epf->func_no, epf->vfunc_no, epf_bar);
}

/**
 * pci_epf_set_overlays() - show other memory in parts of a BAR
 * @epf: the endpoint function
 * @bar: a BAR of its primary interface that has memory of its own and was set
 * @overlays: the parts, in any order, not overlapping
 * @num: their number; with zero the BAR shows its own memory all over
 *
 * The host must have assigned the BAR, and the memory that an overlay shows
 * must stay until it is replaced. Replacing overlays leaves a moment in which
 * the host reaches nothing in the BAR; there is none if nothing has changed.
 *
 * The caller must not call this for the same BAR from two places at once.
 *
 * Return: 0 on success; -errno otherwise, and then the BAR shows what it showed
 * before or, if it cannot, no overlay.
 */
int pci_epf_set_overlays(struct pci_epf *epf, enum pci_barno bar,
			 const struct pci_epf_overlay *overlays,
			 unsigned int num)
{
	struct pci_epf_bar *epf_bar = &epf->bar[bar];
	struct pci_epf_bar_submap *old = epf_bar->submap;
	unsigned int old_num = epf_bar->num_submap;
	int pieces, ret;

	if (!num) {
		pci_epf_drop_overlays(epf, bar);
		return 0;
	}

	struct pci_epf_overlay *sorted __free(kfree) =
		kmemdup_array(overlays, num, sizeof(*overlays), GFP_KERNEL);
	struct pci_epf_bar_submap *map __free(kfree) =
		kzalloc_objs(*map, 2 * num + 1);
	if (!sorted || !map)
		return -ENOMEM;

	sort(sorted, num, sizeof(*sorted), pci_epf_overlay_cmp, NULL);
	pieces = pci_epf_submap_build(epf_bar, sorted, num, map);
	if (pieces < 0)
		return pieces;

	if (pci_epf_submap_same(epf_bar, map, pieces))
		return 0;

	epf_bar->submap = map;
	epf_bar->num_submap = pieces;
	ret = pci_epc_set_bar(epf->epc, epf->func_no, epf->vfunc_no, epf_bar);
	if (!ret) {
		retain_and_null_ptr(map);
		kfree(old);
		return 0;
	}

	epf_bar->submap = old;
	epf_bar->num_submap = old_num;
	if (!old || pci_epc_set_bar(epf->epc, epf->func_no, epf->vfunc_no,
				    epf_bar)) {
		pci_epf_show_own(epf, epf_bar);
		kfree(old);
	}

	return ret;
}
EXPORT_SYMBOL_GPL(pci_epf_set_overlays);

/**
 * pci_epf_drop_overlays() - show a BAR's own memory again
 * @epf: the endpoint function
 * @bar: the BAR
 *
 * Overlays are found by the address that the host has assigned. A function
 * whose host is gone must drop them before the next one assigns others.
 *
 * On return the host does not reach what the overlays showed. If the EPC cannot
 * map the BAR's own memory, the BAR is cleared.
 */
void pci_epf_drop_overlays(struct pci_epf *epf, enum pci_barno bar)
{
	struct pci_epf_bar *epf_bar = &epf->bar[bar];
	struct pci_epf_bar_submap *old = epf_bar->submap;

	if (!old)
		return;

	pci_epf_show_own(epf, epf_bar);
	kfree(old);
}
EXPORT_SYMBOL_GPL(pci_epf_drop_overlays);
