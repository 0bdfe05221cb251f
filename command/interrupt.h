// SIGINT and SIGTERM: the first asks for a clean end, the second ends at once.
// Neither leaves a partial file.
#ifndef COMMAND_INTERRUPT_H
#define COMMAND_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

struct hd_graph;
struct hd_runtime;

// Start to listen. A signal that was ignored from the start stays so (nohup).
void interrupt_watch(void);

// True once a signal has come.
bool interrupted(void);

// The graph to cancel when a signal comes, NULL for none. After the return of
// interrupt_graph(NULL) no handler uses the graph before it any more.
void interrupt_graph(struct hd_graph *graph);

// The same for the runtime, whose builds are cancelled.
void interrupt_runtime(struct hd_runtime *runtime);

// The file to remove when a second signal kills us, NULL for none. The string
// must live on until another call. Call with the signals held back.
void interrupt_file(const char *path);

// Hold the signals back in this thread, and in threads it starts meanwhile.
void interrupt_hold(sigset_t *before);
void interrupt_release(const sigset_t *before);

#endif
