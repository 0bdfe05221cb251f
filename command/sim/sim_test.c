// The simulator against models that are slower and simpler.
#include "dispatch/policies/policy.h"
#include "sim/policy.h"
#include "sim/run.h"
#include "sim/setup.h"

// What was decided, in order.
struct entry {
    uint64_t now, tag;
    uint32_t group, module, piece;
};

struct record {
    struct entry *entry;
    size_t count, room;
};

static void add_entry(struct record *record, struct entry entry)
{
    if (record->count == record->room) {
        record->room = record->room ? 2 * record->room : 1024;
        record->entry =
            realloc(record->entry, record->room * sizeof(*record->entry));
        CHECK(record->entry);
    }
    record->entry[record->count++] = entry;
}

static void observe(void *data, const struct hdi_decision *decision,
                    uint64_t now)
{
    add_entry(data, (struct entry){.now = now,
                                   .tag = decision->tag,
                                   .group = decision->group,
                                   .module = decision->module,
                                   .piece = decision->piece});
}

static struct record record_of(const struct setup *s, const char *policy,
                               uint64_t seed, struct sim_result *result)
{
    struct record record = {0};
    struct sim_run run = {.machine = &s->machine,
                          .workload = &s->workload,
                          .kernels = &s->kernels,
                          .seed = seed,
                          .observe = observe,
                          .data = &record};

    CHECK_OK(sim_policy_parse(policy, &run.policy, &error), error);
    CHECK_OK(sim_run(&run, result, &error), error);
    return record;
}

static void same_records(const struct record *a, const struct record *b)
{
    CHECK(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        CHECK(a->entry[i].now == b->entry[i].now);
        CHECK(a->entry[i].tag == b->entry[i].tag);
        CHECK(a->entry[i].group == b->entry[i].group);
        CHECK(a->entry[i].module == b->entry[i].module);
        CHECK(a->entry[i].piece == b->entry[i].piece);
    }
}

// The published rules of the two baselines, on block maps of one byte per
// block, a cycle at a time.
enum {
    MODULES = 4,
    UNITS = 4,
    CHANNELS = 8,
    BLOCKS = 128,
    SLOTS = 16
};

struct taken {
    uint64_t end;
    unsigned module, slots[UNITS];
    uint8_t vector[UNITS][BLOCKS], scalar[UNITS][BLOCKS], memory[BLOCKS];
};

static uint8_t vector_of[MODULES][UNITS][BLOCKS];
static uint8_t scalar_of[MODULES][UNITS][BLOCKS];
static uint8_t memory_of[MODULES][BLOCKS];
static unsigned slots_of[MODULES][UNITS], pointer_of[MODULES];

// Occupy the first `length` free blocks in a row.
static bool occupy(uint8_t *map, unsigned length, uint8_t *mine)
{
    for (unsigned start = 0; start + length <= BLOCKS; start++) {
        unsigned i = 0;
        while (i < length && !map[start + i])
            i++;
        if (i < length)
            continue;
        for (i = 0; i < length; i++)
            map[start + i] = mine[start + i] = 1;
        return true;
    }
    return false;
}

static void vacate(uint8_t *map, const uint8_t *mine)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        map[i] = map[i] && !mine[i];
}

static void leave(const struct taken *t)
{
    for (unsigned q = 0; q < UNITS; q++) {
        vacate(vector_of[t->module][q], t->vector[q]);
        vacate(scalar_of[t->module][q], t->scalar[q]);
        slots_of[t->module][q] -= t->slots[q];
    }
    vacate(memory_of[t->module], t->memory);
}

static bool enter(unsigned m, const struct hdi_need *need, struct taken *t)
{
    bool fits = true;

    memset(t, 0, sizeof(*t));
    t->module = m;
    if (need->amount[3] > 0)
        fits = occupy(memory_of[m], need->amount[3], t->memory);
    for (unsigned w = 0; w < need->waves && fits; w++) {
        unsigned q = (pointer_of[m] + w) % UNITS;
        fits = slots_of[m][q] < SLOTS &&
               occupy(vector_of[m][q], need->amount[0], t->vector[q]) &&
               occupy(scalar_of[m][q], need->amount[1], t->scalar[q]);
        if (fits) {
            slots_of[m][q]++;
            t->slots[q]++;
        }
    }
    if (!fits)
        leave(t);
    else
        pointer_of[m] = (pointer_of[m] + need->waves) % UNITS;
    return fits;
}

static struct record published(const struct setup *s, bool sticky)
{
    enum {
        RUNNING = MODULES * UNITS * SLOTS
    };
    static struct taken running[RUNNING];
    struct record record = {0};
    size_t kernel_of[CHANNELS];
    uint32_t group_of[CHANNELS] = {0};
    unsigned live = 0, channel_turn = 0, module_turn = 0;

    memset(vector_of, 0, sizeof(vector_of));
    memset(scalar_of, 0, sizeof(scalar_of));
    memset(memory_of, 0, sizeof(memory_of));
    memset(slots_of, 0, sizeof(slots_of));
    memset(pointer_of, 0, sizeof(pointer_of));
    for (unsigned c = 0; c < CHANNELS; c++) {
        kernel_of[c] = 0;
        while (kernel_of[c] < s->kernels.count &&
               s->kernels.kernel[kernel_of[c]].channel != c)
            kernel_of[c]++;
    }
    for (uint64_t now = 0; now < s->workload.cycles; now++) {
        for (unsigned i = 0; i < live;) {
            if (running[i].end <= now) {
                leave(&running[i]);
                running[i] = running[--live];
            } else {
                i++;
            }
        }
        bool done = false;
        for (unsigned i = 0; i < CHANNELS && !done; i++) {
            unsigned c = (channel_turn + i) % CHANNELS;
            const struct sim_kernel *kernel = &s->kernels.kernel[kernel_of[c]];
            if (kernel_of[c] == s->kernels.count || kernel->arrival > now)
                continue;
            for (unsigned k = 0; k < MODULES && !done; k++) {
                unsigned m = sticky ? (module_turn + k) % MODULES : k;
                if (!enter(m, &kernel->need, &running[live]))
                    continue;
                uint32_t g = group_of[c]++;
                running[live++].end =
                    now + s->kernels.runs[kernel->first_run + g];
                add_entry(&record, (struct entry){.now = now,
                                                  .tag = kernel_of[c],
                                                  .group = g,
                                                  .module = m});
                module_turn = (m + 1) % MODULES;
                channel_turn = sticky ? c : (c + 1) % CHANNELS;
                done = true;
                if (group_of[c] == kernel->groups) {
                    group_of[c] = 0;
                    do
                        kernel_of[c]++;
                    while (kernel_of[c] < s->kernels.count &&
                           s->kernels.kernel[kernel_of[c]].channel != c);
                }
            }
            if (sticky) { // this channel until it is empty, fit or not
                channel_turn = c;
                break;
            }
        }
    }
    return record;
}

static void baselines_follow_their_published_rule(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct setup s = set_up(machine_text, workload_text, seed);

        for (int sticky = 0; sticky < 2; sticky++) {
            struct sim_result result;
            struct record a =
                record_of(&s, sticky ? "sticky" : "robin", seed, &result);
            struct record b = published(&s, sticky);
            CHECK(a.count > 1000);
            same_records(&a, &b);
            free(a.entry);
            free(b.entry);
        }
        tear_down(&s);
    }
}

// The dispatcher asked in every single cycle.
static struct record cycle_by_cycle(const struct setup *s, const char *policy,
                                    uint64_t seed)
{
    struct record record = {0};
    struct hdi_dispatcher_options options = {
        .channels = s->workload.channels, .packets = 4096, .seed = seed};
    struct hdi_dispatcher *d;
    struct running {
        uint64_t end, order, run;
        uint32_t lease;
    } *running = calloc(1024, sizeof(*running));
    size_t live = 0, arrived = 0;
    uint64_t order = 0;

    CHECK(running);
    CHECK_OK(sim_policy_parse(policy, &options.policy, &error), error);
    options.policy.priorities = s->workload.priorities;
    CHECK_OK(hdi_dispatcher_create(&s->machine.shape, &options, &d, &error),
             error);
    for (uint64_t now = 0; now < s->workload.cycles; now++) {
        for (;;) { // in the order of ends, then of decisions
            size_t first = live;
            for (size_t i = 0; i < live; i++) {
                if (running[i].end <= now &&
                    (first == live || running[i].end < running[first].end ||
                     (running[i].end == running[first].end &&
                      running[i].order < running[first].order)))
                    first = i;
            }
            if (first == live)
                break;
            hdi_dispatcher_release(d, running[first].lease, running[first].run);
            running[first] = running[--live];
        }
        while (arrived < s->kernels.count &&
               s->kernels.kernel[arrived].arrival <= now) {
            const struct sim_kernel *kernel = &s->kernels.kernel[arrived];
            struct hdi_packet packet = {.need = kernel->need,
                                        .groups = kernel->groups,
                                        .tag = arrived++};
            CHECK_OK(hdi_dispatcher_submit(d, kernel->channel, &packet,
                                           kernel->arrival, &error),
                     error);
        }
        struct hdi_decision decision;
        if (hdi_dispatcher_round(d, now, &decision) != HDI_ROUND_SENT)
            continue;
        observe(&record, &decision, now);
        const struct sim_kernel *kernel = &s->kernels.kernel[decision.tag];
        uint64_t run = s->kernels.runs[kernel->first_run + decision.group];
        CHECK(live < 1024);
        running[live++] = (struct running){.end = now + run,
                                           .order = order++,
                                           .run = run,
                                           .lease = decision.lease};
    }
    hdi_dispatcher_destroy(d);
    free(running);
    return record;
}

static void skipping_cycles_changes_nothing(void)
{
    static const char *const policies[] = {
        "plain",    "plain,windows=4000:3000:2000:1000,split=40,pieces=2",
        "balanced", "balanced,hold=1,backfill=0,split=20",
        "strict",   "balanced,windows=900:500:300:100,patience=5000"};
    uint64_t splits = 0;

    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        struct setup s = set_up(machine_text, workload_text, 5 + i);
        struct sim_result result;
        struct record a = record_of(&s, policies[i], 9, &result);
        struct record b = cycle_by_cycle(&s, policies[i], 9);

        same_records(&a, &b);
        CHECK(result.decisions == a.count && a.count > 1000);
        splits += result.splits;
        free(a.entry);
        free(b.entry);
        tear_down(&s);
    }
    CHECK(splits > 10);
}

// Ends far ahead are kept in another way than those that come soon; some are
// just near enough to be kept among these.
static void long_groups_end_when_they_should(void)
{
    static const char *const workloads[] = {
        "cycles = 200000\n"
        "channels = 4\n"
        "priorities = 4\n"
        "kernel { 0, priority = 4, groups = 90, waves = 4, run = { "
        "50, to = 60000 }, vector = 12, slots = 1 }\n"
        "kernel { 1, priority = 3, groups = 400, waves = 7, run = "
        "{ 20, to = 900 }, vector = 8, slots = 1, memory = 24 }\n"
        "kernel { 2, at = 500, priority = 2, groups = 90, waves = "
        "16, run = { 16000, to = 34000 }, vector = 20, slots = 1 }\n"
        "kernel { 3, at = 900, priority = 1, groups = 200, waves = "
        "2, run = { 50, to = 3000 }, vector = 32, slots = 1, "
        "memory = 60 }\n",
        "cycles = 200000\n"
        "channels = 4\n"
        "priorities = 4\n"
        "kernel { 0, priority = 1, groups = 200, waves = 16, run = "
        "{ 16321, to = 16383 }, vector = 20, slots = 1 }\n"
        "kernel { 1, priority = 2, groups = 900, waves = 8, run = "
        "{ 20, to = 3000 }, vector = 20, slots = 1 }\n"};

    for (unsigned i = 0; i < 2; i++) {
        struct setup s = set_up(machine_text, workloads[i], 8);
        struct sim_result result;
        struct record a = record_of(&s, "balanced", 9, &result);
        struct record b = cycle_by_cycle(&s, "balanced", 9);

        same_records(&a, &b);
        CHECK(a.count > 500);
        free(a.entry);
        free(b.entry);
        tear_down(&s);
    }
}

static void equal_seeds_give_equal_runs(void)
{
    struct setup s = set_up(machine_text, workload_text, 4);
    struct setup other = set_up(machine_text, workload_text, 6);
    struct sim_result first, second;
    struct record a = record_of(&s, "plain", 4, &first);
    struct record b = record_of(&s, "plain", 4, &second);

    same_records(&a, &b);
    second.seconds = first.seconds;
    CHECK(memcmp(&first, &second, sizeof(first)) == 0);
    CHECK(other.kernels.run_count != s.kernels.run_count);
    // Every group that arrived is counted once.
    CHECK(first.groups == s.kernels.run_count);
    CHECK(first.sent <= first.groups && first.finished <= first.decisions);
    free(a.entry);
    free(b.entry);
    tear_down(&s);
    tear_down(&other);
}

// Whole runs as they were when this was written: a change of any decision must
// be meant. No run time needs the mathematics library, which differs.
static void runs_are_as_recorded(void)
{
    static const char workload[] =
        "cycles = 60000\n"
        "channels = 5\n"
        "priorities = 4\n"
        "kernel { 0, priority = 4, groups = 300, waves = 4, run = "
        "{ 200, to = 900 }, independent = true, vector = 12, slots "
        "= 1 }\n"
        "kernel { 1, priority = 3, groups = 200, waves = 7, run = "
        "{ 100, to = 400 }, vector = 8, scalar = 5, slots = 1, "
        "memory = 24 }\n"
        "kernel { 2, at = 500, priority = 2, groups = 150, waves = "
        "16, run = { 300, to = 700 }, independent = true, vector = "
        "20, slots = 1 }\n"
        "kernel { 3, at = 900, priority = 1, groups = 100, waves = "
        "2, run = { 50, to = 3000 }, vector = 32, slots = 1, "
        "memory = 60 }\n"
        "kernel { 4, at = 1000, priority = 1, groups = 250, waves "
        "= 5, run = { 100, to = 200 }, scalar = 7, slots = 1 }\n";
    static const struct {
        const char *policy;
        uint64_t sum;
    } recorded[] = {{"plain,split=40", 0x28a67f460f9fcdcd},
                    {"plain,byrun=1,pointer=tail", 0x6a91047246e582c8},
                    {"balanced", 0xbc6a1a8d9840bcd5},
                    {"robin", 0x074a80f0be3c1ac5},
                    {"sticky", 0x5816b044073f1714}};

    for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++) {
        struct setup s = set_up(machine_text, workload, 11);
        struct sim_result result;
        struct record r = record_of(&s, recorded[i].policy, 3, &result);
        uint64_t sum = 0xcbf29ce484222325; // FNV-1a, a number at a time

        CHECK(r.count >= 1000);
        for (size_t k = 0; k < r.count; k++) {
            const uint64_t numbers[] = {r.entry[k].now, r.entry[k].tag,
                                        r.entry[k].group, r.entry[k].module,
                                        r.entry[k].piece};
            for (int n = 0; n < 5; n++)
                sum = (sum ^ numbers[n]) * 0x100000001b3;
        }
        if (sum != recorded[i].sum)
            printf("%s: 0x%016llx\n", recorded[i].policy,
                   (unsigned long long)sum);
        CHECK(sum == recorded[i].sum);
        free(r.entry);
        tear_down(&s);
    }
}

static bool records_differ(const struct record *a, const struct record *b)
{
    if (a->count != b->count)
        return true;
    for (size_t i = 0; i < a->count; i++)
        if (a->entry[i].now != b->entry[i].now ||
            a->entry[i].tag != b->entry[i].tag ||
            a->entry[i].module != b->entry[i].module)
            return true;
    return false;
}

// What can be said of a machine's searches and instructions is no decoration:
// each changes what is decided, and when.
static void every_statement_changes_the_run(void)
{
#define PLAIN  "modules = 4\nunits = 2\nwaves = 16\n"
#define MEMORY "resource { 'memory', 128, 'module', 'contiguous' }\n"
#define VECTOR(form) \
    "resource { 'vector', 128, 'unit', 'contiguous'" form " }\n"
    static const char needs[] =
        "cycles = 60000\n"
        "channels = 4\n"
        "priorities = 2\n"
        "generate { load = 1.4 }\n"
        "priority = { 2, 1 }\n"
        "groups = { 8, to = 60 }\n"
        "waves = { 1, 2, 3, 5 }\n"
        "need { 'vector', 5, 9, 9, 9, 17, 17, 30 }\n"
        "need { 'memory', 0, 3, 7, 20 }\n"
        "run { 'lognormal', 5, 1, from = 50, to = 3000 }\n"
        "mix { heavy = 3 }\n"
        "mix { light = 1 }\n";
    static const char *const machines[] = {
        PLAIN VECTOR("") MEMORY,
        PLAIN VECTOR(", grouped = 4") MEMORY,
        PLAIN VECTOR(", sampled = true") MEMORY,
        PLAIN VECTOR(", sampled = { above = 0.13, "
                     "lengths = { 5, 9, 9, 9, 17, 17, 30, 30 } }") MEMORY,
        PLAIN VECTOR(", together = true") MEMORY,
        PLAIN VECTOR("") MEMORY "search = 'pipeline'\n",
        PLAIN VECTOR("") MEMORY "search = 'reused'\n",
        PLAIN VECTOR("") MEMORY "search = 'pipeline'\n"
                                "searcher { 128, 'vector', 'memory' }\n",
        PLAIN VECTOR("") MEMORY "instruction { 'heavy', 60 }\n",
    };
    enum {
        COUNT = sizeof(machines) / sizeof(*machines)
    };
    struct record records[COUNT];

    for (int i = 0; i < COUNT; i++) {
        char text[1000];
        struct sim_result result;
        snprintf(text, sizeof(text), "%s%s", machines[i],
                 strstr(machines[i], "heavy") ? "instruction { 'light', 1 }\n"
                                              : "instruction { 'heavy', 1 }\n"
                                                "instruction { 'light', 1 }\n");
        struct setup s = set_up(text, needs, 5);
        records[i] = record_of(&s, "plain,left=0,recent=1", 7, &result);
        CHECK(records[i].count > 200);
        for (int other = 0; other < i; other++)
            if (!records_differ(&records[i], &records[other])) {
                fprintf(stderr, "'%s' makes no difference to '%s'\n",
                        machines[i], machines[other]);
                exit(1);
            }
        tear_down(&s);
    }
    for (int i = 0; i < COUNT; i++)
        free(records[i].entry);
#undef PLAIN
#undef MEMORY
#undef VECTOR
}

// All groups end: as many are complete as there were, though pieces are more.
static void split_groups_are_complete_once(void)
{
    struct setup s =
        set_up("modules = 1\n"
               "units = 2\n"
               "waves = 8\n"
               "resource { 'block', 32, 'unit', 'contiguous' }\n",
               "cycles = 200000\n"
               "priorities = 2\n"
               "kernel { 0, priority = 2, groups = 40, waves = 1, run = { "
               "400, to = 900 }, block = 20 }\n"
               "kernel { 1, priority = 1, groups = 12, waves = 6, run = { "
               "50, to = 700 }, independent = true, block = 9 }\n",
               3);
    struct sim_result r;
    struct record record = record_of(&s, "plain,split=20", 3, &r);

    CHECK(r.splits > 0 && r.finished > r.completed);
    CHECK(r.completed == r.groups && r.sent == r.groups);
    free(record.entry);
    tear_down(&s);
}

// By hand: two groups of one kernel on one module that holds one at a time.
static void figures_are_what_they_say(void)
{
    struct setup s =
        set_up("modules = 1\n"
               "units = 1\n"
               "waves = 4\n"
               "resource { 'block', 10, 'unit', 'contiguous' }\n",
               "cycles = 100\n"
               "priorities = 2\n"
               "kernel { 0, at = 10, priority = 2, groups = 2, run = 20, "
               "block = 6 }\n"
               "kernel { 0, at = 95, priority = 1, groups = 1, run = 20, "
               "block = 5 }\n",
               1);
    struct sim_result r;
    struct record record = record_of(&s, "strict", 1, &r);

    CHECK(record.count == 3 && record.entry[0].now == 10 &&
          record.entry[1].now == 30 && record.entry[2].now == 95);
    CHECK(r.groups == 3 && r.finished == 2);
    CHECK(r.by_priority[2].max == 20 && r.by_priority[2].mean == 10);
    CHECK(r.by_priority[1].max == 0);
    CHECK(r.throughput > 0.2399 && r.throughput < 0.2401); // 2 x 0.6 x 20 / 100
    CHECK(r.used[0] > 0.2649 && r.used[0] < 0.2651);       // and 5 x 0.5
    free(record.entry);
    tear_down(&s);

    s = set_up("modules = 1\n"
               "units = 1\n"
               "waves = 4\n"
               "search = 'pipeline'\n"
               "resource { 'block', 10, 'unit', 'contiguous' }\n",
               "cycles = 100\n"
               "kernel { 0, at = 10, groups = 3, run = 50, block = 3 }\n",
               1);
    record = record_of(&s, "robin", 1, &r);
    // A round of three cycles: only cycles 0, 3, 6, ... decide.
    CHECK(record.count == 3 && record.entry[0].now == 12 &&
          record.entry[1].now == 15 && record.entry[2].now == 18);
    free(record.entry);
    tear_down(&s);
}

// 4, 4 and 5 waves on 3 units, where the last two that are over begin at the
// last unit: 5, 4 and 4.
static void waves_are_counted_by_unit(void)
{
    struct setup s =
        set_up("modules = 1\n"
               "units = 3\n"
               "waves = 16\n"
               "resource { 'slots', 16, 'unit', 'counted' }\n",
               "cycles = 100\n"
               "priorities = 1\n"
               "kernel { 0, at = 0, waves = 4, run = 20, slots = 1 }\n"
               "kernel { 0, at = 1, waves = 4, run = 20, slots = 1 }\n"
               "kernel { 0, at = 2, waves = 5, run = 20, slots = 1 }\n",
               1);
    struct sim_result r;
    struct record record = record_of(&s, "plain", 1, &r);

    CHECK(record.count == 3);
    CHECK(r.unit_imbalance == 1.25);
    free(record.entry);
    tear_down(&s);
}

int main(void)
{
    baselines_follow_their_published_rule();
    skipping_cycles_changes_nothing();
    long_groups_end_when_they_should();
    equal_seeds_give_equal_runs();
    runs_are_as_recorded();
    every_statement_changes_the_run();
    split_groups_are_complete_once();
    figures_are_what_they_say();
    waves_are_counted_by_unit();
    return 0;
}
