/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The simulated network's time as LogGP has it: who is busy until when.
 */
#include "netmod/sim/sim_impl.h"

static uint64_t latest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* (k - 1) G */
static uint64_t wire(const struct wdl_sim *sim, size_t bytes)
{
    const struct wdl_sim_loggp *p = &sim->params.loggp;
    return bytes > p->free_bytes ? (bytes - p->free_bytes - 1) * p->byte_ps / 1000 : 0;
}

static uint64_t gap(const struct wdl_sim *sim)
{
    return latest(sim->params.loggp.o_ns, sim->params.loggp.g_ns);
}

int sim_loggp_send(struct sim_nm *nm, size_t bytes, uint64_t *due_out)
{
    struct wdl_sim *sim = nm->sim;
    const struct wdl_sim_loggp *p = &sim->params.loggp;
    if (sim->now < latest(nm->processor_free, nm->send_free)) {
        nm->wants_to_send = 1;
        sim->counts.refused++;
        return 0;
    }
    nm->processor_free = sim->now + p->o_ns;
    nm->send_free = sim->now + gap(sim) + wire(sim, bytes);
    *due_out = sim->now + p->o_ns + wire(sim, bytes) + p->l_ns;
    return 1;
}

/* When the receiver can begin with a message. */
static uint64_t receive_at(const struct sim_nm *nm, const struct sim_msg *msg)
{
    return latest(msg->due, latest(nm->processor_free, nm->receive_free));
}

int sim_loggp_receive(struct sim_nm *nm, struct sim_msg *msg)
{
    uint64_t now = nm->sim->now;
    if (!msg->begun) {
        if (now < receive_at(nm, msg))
            return 0;
        msg->begun = 1;
        msg->due = now + nm->sim->params.loggp.o_ns;
        nm->processor_free = msg->due;
        nm->receive_free = now + gap(nm->sim) + wire(nm->sim, msg->bytes);
    }
    return now >= msg->due;
}

uint64_t wdl_sim_next(const struct wdl_sim *sim, int rank)
{
    const struct sim_nm *nm = sim->nms[rank];
    uint64_t next = nm->wants_to_send ? latest(nm->processor_free, nm->send_free) : UINT64_MAX;
    uint64_t can_send = next;
    const struct wdl_list *node;
    wdl_list_for(node, &nm->inbox) {
        const struct sim_msg *msg = wdl_container_of(node, struct sim_msg, link);
        uint64_t due = sim->params.loggp.l_ns && !msg->begun ? receive_at(nm, msg) : msg->due;
        if (nm->wants_to_send && msg->deferred) /* its answer waits for the port */
            due = can_send;
        next = due < next ? due : next;
    }
    wdl_list_for(node, &nm->ops) {
        const struct sim_op *op = wdl_container_of(node, struct sim_op, link);
        next = op->due < next ? op->due : next;
    }
    return next;
}
