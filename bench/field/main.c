// Fields beside what they are compared with, on two processes of this machine;
// bytes are counted on four and seven. Starts itself again under mpirun, and
// then the peers: programs of their own that print the same lines, relative to
// the same copy or addition, so that a ratio of ratios is what one takes of the
// other's time.
//
//     bench_field [--quick]
//     mpirun -n 2 bench_field moves|access|steals|sort [--quick]
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/field/field.h"

void must(struct rig *rig, hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench_field: %s\n", rig->error.text);
    exit(1);
}

void join(struct rig *rig, unsigned nodes, bool messages, uint64_t piece)
{
    struct hd_cluster_params params = {
        .nodes = nodes, .messages = messages, .piece = piece};

    must(rig, hd_cluster_join(&params, &rig->cluster, &rig->error));
}

struct hd_map *parse(struct rig *rig, const char *format, ...)
{
    char text[256];
    struct hd_map *map;
    va_list words;

    va_start(words, format);
    vsnprintf(text, sizeof(text), format, words);
    va_end(words);
    must(rig, hd_map_parse(text, &map, &rig->error));
    return map;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(double *)value = (double)(index[0] * 100003 + index[1]);
}

struct hd_field *numbered(struct rig *rig, const struct hd_map *map)
{
    struct hd_view view;
    struct hd_field *field;

    must(rig, hd_view_function(hd_map_grid(map), sizeof(double), number, NULL,
                               &view, &rig->error));
    must(rig, hd_agile(rig->cluster, &view, map, &field, &rig->error));
    return field;
}

double *memory_of(struct hd_field *field, uint32_t node, size_t *size)
{
    const struct hdi_store *store;
    char *memory = hdi_field_memory(field, node, &store);

    *size = (size_t)store->size;
    return (double *)memory;
}

double timed(struct rig *rig, void (*work)(struct rig *rig, void *data),
             void *data)
{
    must(rig, hd_cluster_meet(rig->cluster, &rig->error));
    double begin = figure_now();
    work(rig, data);
    must(rig, hd_cluster_meet(rig->cluster, &rig->error));
    return figure_now() - begin;
}

void report(struct rig *rig, const char *name, const char *metric, double value,
            const char *unit, const char *peer, const char *op, double bar)
{
    if (hd_cluster_process(rig->cluster) == 0)
        figure_print(&(struct figure){"field", name, metric, value, unit, peer,
                                      op, bar});
}

// Under mpirun ----------------------------------------------------------------

static int measure(struct rig *rig, const char *part)
{
    static const struct {
        const char *name;
        void (*measure)(struct rig *rig);
    } parts[] = {{"moves", measure_moves},
                 {"access", measure_access},
                 {"steals", measure_steals},
                 {"sort", measure_sort}};

    if (strcmp(part, "bytes") == 0) {
        join(rig, 1, true, 64 * 64 * sizeof(double));
        measure_bytes(rig);
    } else if (strcmp(part, "asking") == 0) {
        join(rig, 1, true, 0);
        measure_asking(rig);
    } else if (strcmp(part, "balance") == 0) {
        join(rig, 2, false, 0);
        measure_balance(rig);
    } else {
        join(rig, 1, false, 0);
        if (hd_cluster_nodes(rig->cluster) != 2) {
            fprintf(stderr, "bench_field: two processes are needed\n");
            return 1;
        }
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            if (!*part || strcmp(part, parts[i].name) == 0)
                parts[i].measure(rig);
    }
    hd_cluster_leave(rig->cluster);
    return 0;
}

// Before it -------------------------------------------------------------------

// A message of 1 KB there and back between two processes, over TCP [us].
static double measure_tcp(void)
{
    enum {
        ROUNDS = 3000
    };
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int one = 1, in = socket(AF_INET, SOCK_STREAM, 0), out = -1;
    char bytes[1024] = {0};
    double begin = 0;
    pid_t child = -1;

    if (in < 0 || bind(in, (struct sockaddr *)&address, size) != 0 ||
        getsockname(in, (struct sockaddr *)&address, &size) != 0 ||
        listen(in, 1) != 0 || (child = fork()) < 0)
        return 0;
    if (child == 0)
        out = socket(AF_INET, SOCK_STREAM, 0);
    else
        out = accept(in, NULL, NULL);
    if (out < 0 ||
        (child == 0 && connect(out, (struct sockaddr *)&address, size) != 0))
        return 0;
    setsockopt(out, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
    for (int i = 0; i < ROUNDS + 100; i++) {
        if (i == 100)
            begin = figure_now();
        if ((child == 0 && send(out, bytes, sizeof(bytes), 0) < 0) ||
            recv(out, bytes, sizeof(bytes), MSG_WAITALL) <
                (ssize_t)sizeof(bytes) ||
            (child != 0 && send(out, bytes, sizeof(bytes), 0) < 0))
            break;
    }
    double time = (figure_now() - begin) * 1000 / ROUNDS;
    close(out);
    close(in);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return time;
}

struct kept { // figures of two processes that peers are held against
    char name[64];
    double value;
};

static struct kept kept[64];
static int kept_count;

// The value of `key` in a line of JSON that figure_print() wrote.
static bool find(const char *line, const char *key, char *value, size_t room)
{
    char quoted[32];

    snprintf(quoted, sizeof(quoted), "\"%s\":", key);
    const char *at = strstr(line, quoted);
    if (!at)
        return false;
    at += strlen(quoted);
    size_t length = *at == '"' ? strcspn(++at, "\"") : strcspn(at, ",}");
    snprintf(value, room, "%.*s", (int)length, at);
    return true;
}

static void pass_on(const char *line, const char *peer, double bar)
{
    char name[64], metric[64], value[32], text[96];

    fputs(line, stdout);
    fflush(stdout);
    if (!find(line, "case", name, sizeof(name)) ||
        !find(line, "metric", metric, sizeof(metric)) ||
        !find(line, "value", value, sizeof(value)))
        return;
    if (!peer) {
        if (strncmp(metric, "time over", 9) == 0 && kept_count < 64) {
            memcpy(kept[kept_count].name, name, sizeof(name));
            kept[kept_count++].value = atof(value);
        }
        return;
    }
    for (int i = 0; i < kept_count; i++)
        if (strcmp(kept[i].name, name) == 0) {
            snprintf(text, sizeof(text), "speed over %s", peer);
            figure_print(&(struct figure){
                "field", name, text, atof(value) / kept[i].value, "ratio", peer,
                bar > 0 && strncmp(name, "block to", 8) == 0 ? ">=" : NULL,
                bar});
        }
}

static const char FIRST[] = "mpirun.openmpi --oversubscribe";

// Run a program under mpirun; `peer` is what it is called, NULL for ours.
static bool start(const char *program, const char *options, int processes,
                  const char *words, const char *peer, double bar)
{
    char command[1024], line[1024];

    fflush(stdout);
    snprintf(command, sizeof(command), "%s %s -n %d %s %s", FIRST, options,
             processes, program, words);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return false;
    while (fgets(line, sizeof(line), pipe))
        pass_on(line, peer, bar);
    return pclose(pipe) == 0;
}

static void start_peer(const char *own, const char *file, const char *peer,
                       const char *words, double bar, const char *package)
{
    char path[512];
    const char *slash = strrchr(own, '/');

    snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - own) : 0,
             own, file);
    if (access(path, X_OK) == 0 && start(path, "", 2, words, peer, bar))
        return;
    char reason[128];

    snprintf(reason, sizeof(reason), "Debian's package %s is not installed",
             package);
    figure_skip(&(struct figure){.bench = "field",
                                 .name = "all",
                                 .metric = "speed over the peer",
                                 .peer = peer},
                access(path, X_OK) == 0 ? "the peer failed" : reason);
}

static int start_all(const char *own, bool quick)
{
    const char *words = quick ? "--quick" : "";
    char asking[64];

    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    if (system("command -v mpirun.openmpi >/dev/null") != 0) {
        figure_skip(&(struct figure){"field", "all", "time over copying", 0,
                                     "ratio", "memcpy", "<=", 1.1},
                    "mpirun.openmpi is not installed");
        return 0;
    }
    snprintf(asking, sizeof(asking), "asking --tcp %.3f %s", measure_tcp(),
             words);
    bool done =
        start(own, "", 2, words, NULL, 0) &&
        start(own, "--mca pml ob1 --mca btl tcp,self", 2, asking, NULL, 0) &&
        start(own, "", 2, quick ? "balance --quick" : "balance", NULL, 0);
    for (int processes = 2; done && processes <= 7; processes += 1)
        if (processes == 2 || processes == 4 || processes == 7)
            done = start(own, "", processes, "bytes", NULL, 0);
    start_peer(own, "field_scalapack", "ScaLAPACK", words, 8,
               "libscalapack-openmpi-dev");
    start_peer(own, "field_arrays", "Global Arrays", words, 0,
               "libglobalarrays-dev");
    return !done;
}

int main(int count, char **words)
{
    struct rig rig = {.rounds = 9};
    const char *part = "";

    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--quick") == 0)
            rig.quick = true;
        else if (strcmp(words[i], "--tcp") == 0 && i + 1 < count)
            rig.tcp = atof(words[++i]);
        else
            part = words[i];
    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return start_all(words[0], rig.quick);
    if (rig.quick)
        rig.rounds = 5;
    return measure(&rig, part);
}
