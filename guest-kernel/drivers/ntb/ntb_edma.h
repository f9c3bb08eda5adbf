/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets into posted buffers of the peer by DMA: what ntb_transport sees
 */

#ifndef NTB_EDMA_H
#define NTB_EDMA_H

#include <linux/ntb.h>
#include <linux/types.h>

struct ntb_edma;
struct ntb_edma_qp;
struct seq_file;

/* Value of the transport's version scratchpad: "ED", version of the layout */
#define NTB_EDMA_VERSION	0x45440001

/* Queue pairs when nobody asks for a number */
#define NTB_EDMA_DEF_QPS	8

/**
 * struct ntb_edma_ops - what the queue pairs tell their owner
 * @rx:		A packet of @len bytes is in the buffer @cb, or the buffer is
 *		given back with an error, a negative @len.
 * @tx_done:	The packet @cb of @len bytes was sent, or a negative error.
 * @down:	The peer took the queue pair down or it failed; the owner must
 *		call ntb_edma_qp_stop() from another context.
 * @relink:	The peer has lost what the owner wrote into its scratchpads.
 *
 * rx(), tx_done() and down() are called in softirq context, tx_done() also by
 * ntb_edma_qp_stop(), rx() also by ntb_edma_qp_handshake() and
 * ntb_edma_qp_give_back(); relink() is called in process context. rx() and
 * tx_done() of a queue pair never run at the same time as themselves.
 */
struct ntb_edma_ops {
	void (*rx)(void *ctx, void *cb, int len);
	void (*tx_done)(void *ctx, void *cb, int len);
	void (*down)(void *ctx);
	void (*relink)(void *owner);
};

struct ntb_edma *ntb_edma_create(struct ntb_dev *ntb, unsigned int qp_count,
				 int spad, unsigned int copy_bytes,
				 const struct ntb_edma_ops *ops, void *owner);
void ntb_edma_destroy(struct ntb_edma *edma);
int ntb_edma_spads(unsigned int qp_count);

int ntb_edma_link_prepare(struct ntb_edma *edma);
int ntb_edma_link_start(struct ntb_edma *edma, void *local, size_t local_size,
			void __iomem *remote, size_t remote_size);
void ntb_edma_link_lost(struct ntb_edma *edma);
void ntb_edma_link_stop(struct ntb_edma *edma);
void ntb_edma_link_hold(struct ntb_edma *edma);

struct ntb_edma_qp *ntb_edma_qp_create(struct ntb_edma *edma, unsigned int idx,
				       void *ctx);
void ntb_edma_qp_destroy(struct ntb_edma_qp *qp);
bool ntb_edma_qp_handshake(struct ntb_edma_qp *qp);
void ntb_edma_qp_stop(struct ntb_edma_qp *qp);

int ntb_edma_qp_post(struct ntb_edma_qp *qp, void *cb, void *buf,
		     unsigned int len);
void *ntb_edma_qp_unpost(struct ntb_edma_qp *qp, unsigned int *len);
void ntb_edma_qp_give_back(struct ntb_edma_qp *qp);
unsigned int ntb_edma_qp_lose(struct ntb_edma_qp *qp);
int ntb_edma_qp_send(struct ntb_edma_qp *qp, void *cb, void *buf,
		     unsigned int len);
unsigned int ntb_edma_qp_tx_free(struct ntb_edma_qp *qp);
void ntb_edma_qp_doorbell(struct ntb_edma_qp *qp);
void ntb_edma_qp_show(struct ntb_edma_qp *qp, struct seq_file *s);

#endif
