/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * UCX netmod: what UCX really uses. Until 1.14 an endpoint tells it in one way only, in print:
 *
 *   #   lane[0]:  3:sysv/memory.0 md[2]  -> md[2]/sysv/sysdev[255] amo#0 am am_bw#0
 *   #     put[0]: 0..<short>..4294967296..<bcopy>..(inf)
 *   #     get[0]: 0..<bcopy>..(inf)
 *
 * Lane 0 carries atomics, puts and gets without the target's processor. What is not understood
 * promises nothing. A lane serves only memory its transport knows: self any, shared memory what UCX
 * itself has mapped (which ucp_rkey_ptr tells; memory given to mem_attach is not), devices what is
 * registered, as all attached memory is. "amo" appears only where UCP uses the device's own
 * atomics; elsewhere it has the target's processor do them. Which transports UCP would use for
 * atomics at all the worker tells, whoever the peers are:
 *
 *   #                 atomics: 0:self/memory, 3:sysv/memory, 4:posix/memory
 */
#include "netmod/ucx/ucx_impl.h"
#include <string.h>

enum { LANES_MAX = 16, NAME_BYTES = 64 };

struct lane {
    char name[NAME_BYTES];      /* transport/device */
    int amo, put, get;
};

static void lane_parse(const char *line, struct lane *lanes, int *count)
{
    char name[NAME_BYTES];
    int i;
    if (sscanf(line, "# lane[%d]: %*d:%63s", &i, name) == 2 && i == *count && i < LANES_MAX) {
        char *path = strrchr(name, '.');
        if (path)
            *path = '\0';
        memset(&lanes[i], 0, sizeof(lanes[i]));
        strcpy(lanes[i].name, name);
        lanes[i].amo = strstr(line, " amo#") != NULL;
        (*count)++;
    } else if (sscanf(line, "# put[%d]:", &i) == 1 && i >= 0 && i < *count) {
        lanes[i].put = 1;
    } else if (sscanf(line, "# get[%d]:", &i) == 1 && i >= 0 && i < *count) {
        lanes[i].get = 1;
    }
}

/* What UCX prints of an endpoint, or (NULL) of a worker, for the caller to free; NULL: nothing. */
static char *text_of(ucp_ep_h ep, ucp_worker_h worker)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    if (ep)
        ucp_ep_print_info(ep, stream);
    else
        ucp_worker_print_info(worker, stream);
    fclose(stream);
    return text;
}

static int lanes_of(ucp_ep_h ep, struct lane *lanes)
{
    char *text = text_of(ep, NULL), *line, *rest;
    int count = 0;
    for (line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        lane_parse(line, lanes, &count);
    free(text);
    return count;
}

static int is_transport(const struct lane *lane, const char *transport)
{
    size_t bytes = strlen(transport);
    return !strncmp(lane->name, transport, bytes) && lane->name[bytes] == '/';
}

static int is_shared_memory(const struct lane *lane)
{
    return is_transport(lane, "sysv") || is_transport(lane, "posix") || is_transport(lane, "xpmem");
}

/* Append name to the list of names unless it is there. */
static void name_add(char *text, size_t bytes, const char *name)
{
    size_t used = strlen(text), n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return;
    snprintf(text + used, bytes - used, "%s%s", used ? " " : "", name);
}

/* The transports UCP uses for atomics, as "name/device name/device". */
static void atomics_of(struct ucx_nm *nm, char *names, size_t bytes)
{
    char *text = text_of(NULL, nm->worker), *rest = NULL;
    char *line = text ? strstr(text, " atomics:") : NULL;
    names[0] = '\0';
    if (line)
        line[strcspn(line, "\n")] = '\0';
    for (char *name = line ? strtok_r(line + 9, ", ", &rest) : NULL; name;
         name = strtok_r(NULL, ", ", &rest)) {
        char *colon = strchr(name, ':');
        if (colon)
            name_add(names, bytes, colon + 1);
    }
    free(text);
}

int ucx_atomics_by_key(struct ucx_nm *nm)
{
    char names[512], *rest = NULL;
    int memory = 0;
    atomics_of(nm, names, sizeof(names));
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        struct lane lane = {.amo = 1 };
        snprintf(lane.name, sizeof(lane.name), "%s", name);
        if (is_transport(&lane, "posix") || is_transport(&lane, "sysv"))
            memory |= WDL_NM_OWN;
        else if (!is_transport(&lane, "self"))
            memory |= WDL_NM_OWN | WDL_NM_ATTACHED;
    }
    return memory;
}

static void lane_add(const struct lane *lane, int mapped, struct wdl_nm_caps *caps)
{
    int coherent = is_transport(lane, "self") || is_shared_memory(lane);
    if (is_shared_memory(lane) && !mapped)
        return;
    if (lane->put && lane->get)
        caps->rma_needs_target = 0;
    if (lane->amo && caps->domain == WDL_NM_DOMAIN_NONE) {
        /* UCX uses a transport's atomics only where the set is complete in both sizes */
        caps->atomic32 = caps->atomic64 = (1u << WDL_NM_ATOMIC_COUNT) - 1;
        caps->domain = coherent ? WDL_NM_DOMAIN_CPU : WDL_NM_DOMAIN_NIC;
    }
}

void ucx_rkey_caps(struct wdl_nm *base, struct wdl_nm_rkey *rkey, struct wdl_nm_caps *caps_out)
{
    struct ucx_nm *nm = ucx_of(base);
    struct lane lanes[LANES_MAX];
    void *ptr;
    int mapped = ucp_rkey_ptr(rkey->rkey, rkey->base, &ptr) == UCS_OK;
    int count = lanes_of(nm->ep[rkey->peer], lanes);
    *caps_out = nm->caps;
    caps_out->atomics_by_key = 0;
    for (int i = 0; i < count; i++)
        lane_add(&lanes[i], mapped, caps_out);
}

/* The class of a peer is what UCX made of it: two processes of a node may see no shared memory. */
enum peer_class { ITSELF, SAME_NODE, OTHER_NODES, CLASSES };

static enum peer_class class_of(const struct ucx_nm *nm, int peer, const struct lane *lanes,
                                int count)
{
    if (peer == nm->params.rank)
        return ITSELF;
    for (int i = 0; i < count; i++)
        if (is_shared_memory(&lanes[i]))
            return SAME_NODE;
    return OTHER_NODES;
}

void ucx_describe(struct wdl_nm *base, char *text, size_t bytes)
{
    static const char *const titles[CLASSES] = { "itself", "same node", "network" };
    struct ucx_nm *nm = ucx_of(base);
    struct lane lanes[LANES_MAX];
    char names[CLASSES][512] = { "", "", "" };
    for (int peer = 0; peer < nm->params.peers; peer++) {
        int count = nm->ep[peer] ? lanes_of(nm->ep[peer], lanes) : 0;
        enum peer_class class = class_of(nm, peer, lanes, count);
        for (int i = 0; i < count; i++)
            name_add(names[class], sizeof(names[class]), lanes[i].name);
    }
    size_t used = (size_t) snprintf(text, bytes, "UCX %s", ucp_get_version_string());
    for (int c = 0; c < CLASSES && used < bytes; c++)
        if (names[c][0])
            used += (size_t) snprintf(text + used, bytes - used, "; %s: %s", titles[c], names[c]);
    if (!names[ITSELF][0] && !names[SAME_NODE][0] && !names[OTHER_NODES][0] && used < bytes)
        used += (size_t) snprintf(text + used, bytes - used, "; no connection yet");
    atomics_of(nm, names[0], sizeof(names[0]));
    if (used < bytes)
        snprintf(text + used, bytes - used, "; atomics: %s",
                 names[0][0] ? names[0] : "by the target's processor");
}
