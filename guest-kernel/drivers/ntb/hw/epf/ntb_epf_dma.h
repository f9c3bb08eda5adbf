/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMA engine of an endpoint that an NTB endpoint function exports
 */

#ifndef _NTB_EPF_DMA_H
#define _NTB_EPF_DMA_H

#include <linux/types.h>

struct dma_chan;
struct ntb_epf_dma;
struct pci_dev;

struct ntb_epf_dma *ntb_epf_dma_init(struct pci_dev *pdev, int bar,
				     resource_size_t offset,
				     resource_size_t size);
void ntb_epf_dma_exit(struct ntb_epf_dma *dma);
unsigned int ntb_epf_dma_nr_chans(const struct ntb_epf_dma *dma);
void ntb_epf_dma_set_irqs(struct ntb_epf_dma *dma, unsigned int first_vector,
			  unsigned int nr_irqs);
int ntb_epf_dma_attach(struct ntb_epf_dma *dma);
int ntb_epf_dma_detach(struct ntb_epf_dma *dma);
int ntb_epf_dma_chan_count(struct ntb_epf_dma *dma);
struct dma_chan *ntb_epf_dma_request_chan(struct ntb_epf_dma *dma,
					  unsigned int idx);

#endif /* _NTB_EPF_DMA_H */
