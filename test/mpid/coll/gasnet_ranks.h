/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks with GASNet's collectives on a simulated network: one world at a time, in variables that
 * its tests share. Ranks have 1, 2, 3, 1, ... images, or as many each as asked for.
 */
#ifndef WDL_TEST_MPID_COLL_GASNET_RANKS_H_INCLUDED
#define WDL_TEST_MPID_COLL_GASNET_RANKS_H_INCLUDED

#include "mpid/coll/gasnet_core.h"
#include "mpid/coll/ranks.h"

enum { RANKS_MAX = 33, IMAGES_MAX = 3, UNITS_MAX = RANKS_MAX * IMAGES_MAX, ROOM = 60000 };
/* The table of functions, on 32-bit words; COMPOSE: x -> a x + b of 16 bits. And sums byte by byte,
 * of elements of any size. */
enum { COMPOSE, SUM, SERIAL, FNS, BYTES = FNS, ALL_FNS };

extern struct ranks r;
extern struct wdl_gas_team *team[RANKS_MAX];
extern wdl_gas_handle handle[RANKS_MAX];
extern size_t images[RANKS_MAX], first[RANKS_MAX + 1];
extern char *src[RANKS_MAX][IMAGES_MAX], *dst[RANKS_MAX][IMAGES_MAX];
/* Lists of each rank's units, as gasnet_lists has filled them. */
extern void *src_list[RANKS_MAX][UNITS_MAX], *dst_list[RANKS_MAX][UNITS_MAX];

uint32_t gasnet_apply(int op, uint32_t x, uint32_t y);
/* In every other world, by its seed, ranks share a node: all, or in turn two by two. */
void gasnet_open(const struct wdl_sim_params *sim, size_t images_each);
/* So many ranks share a node; 0: messages alone. */
void gasnet_open_nodes(const struct wdl_sim_params *sim, size_t images_each, int each);
/* By messages alone; on one node; on one in domains of two; on nodes of two, by any rows, or by
 * those that know nodes, as in domains. */
enum gasnet_place { AT_MESSAGES, AT_ONE_NODE, AT_DOMAINS, AT_NODES, AT_LEVELS };
void gasnet_open_place(const struct wdl_sim_params *sim, size_t images_each,
                       enum gasnet_place place);
/* In worlds to come so many ranks of a node share a domain; 0: nobody knows of any. */
void gasnet_domains(int each);
/* ... rows are preferred (wdl_coll_prefer) when teams are made; NULL: none. */
void gasnet_prefer_always(const char *rows);
/* All that the ranks of nodes show each other. */
void gasnet_look(void (*fn)(const char *at, size_t bytes));
/* As wdl_coll_prefer. */
void gasnet_prefer(const char *rows);
/* Asserts, by ranks_close, that every allocation has come home. */
void gasnet_close(void);
/* Random, by the world's seed. */
size_t draw(size_t below);
/* Flags: any synchronization, this of SINGLE and LOCAL, or any (0). */
int draw_flags(int scope);
/* Of the own units, or (m and SINGLE) of all; m: units are images. */
void gasnet_lists(int m, int flags);
char *unit_memory(char *memory[][IMAGES_MAX], int m, size_t unit);
/* start(i), which sets handle[i], on the ranks in any order with progress in between; then all
 * handles are synchronized, each as soon as it can be. */
void gasnet_all(void (*start)(int i));
void gasnet_finish(void);
/* `call` again and again in random worlds: messages late and out of order, a network that refuses;
 * of few ranks, and of more than there are links. */
void gasnet_few(void (*call)(void));
void gasnet_many(void (*call)(void));

/* An array over `units`, block-cyclic, with any block size and offset; of 32-bit words, or of
 * elements of so many bytes. */
struct layout {
    size_t blk, off, units;
};
struct layout gasnet_layout(size_t units);
char *gasnet_element_of(char *memory[][IMAGES_MAX], int m, const struct layout *l, size_t g,
                        size_t bytes);
uint32_t *gasnet_element(char *memory[][IMAGES_MAX], int m, const struct layout *l, size_t g);

#endif
