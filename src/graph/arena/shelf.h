// Graphs of programs that have been destroyed, kept for when the same program
// is generated with the same settings: then nothing is generated or built.
//
// A graph is kept if it is still as the program made it, and steered by no
// results. The kernel files that it was prepared with are looked at again.
#ifndef HDI_GRAPH_ARENA_SHELF_H
#define HDI_GRAPH_ARENA_SHELF_H

#include "graph/model/model.h"

enum {
    HDI_SHELF_MAX = 4 // graphs; the oldest goes first
};

// Owned by a runtime. `lock` guards the array, whose first is the newest and
// which has no gaps; a graph in it is touched by nobody else.
struct hdi_shelf {
    pthread_mutex_t lock;
    struct hd_graph *graphs[HDI_SHELF_MAX];
};

bool hdi_shelf_init(struct hdi_shelf *shelf);
void hdi_shelf_destroy(struct hdi_shelf *shelf);

// What a program, its text and what it is given make. All zero is no recipe.
struct hdi_feedback_key hdi_shelf_recipe(const struct hd_graph_program *program,
                                         const char *text, size_t size);

// A graph of that recipe, the caller's now, with the program's inputs; NULL:
// there is none. Errors as hd_graph_input().
hd_status hdi_shelf_take(struct hdi_shelf *shelf,
                         const struct hdi_feedback_key *recipe,
                         const struct hd_graph_program *program,
                         struct hd_graph **taken, struct hd_error *error);

// Give up a graph that nobody uses: false when it is not to be kept.
bool hdi_shelf_put(struct hd_graph *graph);

// A program of a graph that is kept, of the same files and options, whose
// kernels keep nothing in it; the caller's too. NULL: there is none.
struct hd_program *hdi_shelf_borrow(struct hdi_shelf *shelf,
                                    const struct hdi_kernel_use *use,
                                    uint64_t files);

// What the files of a kernel hold; 0 when other files may be part of it.
uint64_t hdi_shelf_look(const char *path, const char *with);

#endif
