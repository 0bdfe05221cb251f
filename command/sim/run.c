// Invariant: what runs ends soon or late. Soon is within NEAR cycles of `swept`
// when it is sent: each of these cycles has a ring of leases, in the order they
// were sent. `events` is a heap of the others, earliest end first. Everything a
// lease needs at its end is in running[lease]. Equal ends leave in the order
// they were sent; those of the heap were sent before those of a ring.
#include "sim/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "sim/timeline.h"

enum {
    SAMPLES = 256
}; // of heat and waiting, over a run

// End, then order, as one number: comparing it takes no branch. The lease is in
// its lowest bits.
typedef hdi_wide sim_event;

enum {
    LEASE_BITS = 16,
    NEAR = 1 << 14 // cycles
};

struct near {
    uint64_t any[NEAR / 64]; // a bit per cycle
    uint16_t last[NEAR];     // lease of its ring
    uint32_t count;
};

// Groups of a kernel that were sent, and their cycles inside the run.
struct account {
    uint32_t sent;
    uint64_t cycles, wave_cycles;
    double power; // of one group
};

struct running {
    uint64_t run;
    double work;
    double flow, power;
    uint32_t next; // lease of the same ring
    uint32_t module;
};

// What the timeline shows of it besides.
struct shown {
    uint64_t begin;
    int row;
    struct hdi_decision decision;
};

struct module_state {
    uint64_t since; // of the last change [cycles]
    double flow;    // weighted instructions per cycle now
    double power;   // energy held now
    double energy;  // since the last sample
    double heat;
    uint64_t wave_cycles;
    uint64_t even_waves; // every unit got
};

struct waits {
    uint32_t *list; // [cycles], by priority one part; saturated
    size_t count;
    double sum;
    double max;
};

struct sim {
    const struct sim_run *run;
    struct sim_result *result;
    struct hdi_dispatcher *dispatcher;
    struct hdi_recent recent;
    bool counts_recent;
    uint64_t swept; // nothing that runs ends before [cycles]
    uint64_t next;  // when the first that runs ends; UINT64_MAX: none runs
    struct near *near;
    sim_event *events;
    size_t event_count;
    uint64_t order;
    struct running *running;
    struct shown *shown; // with a timeline
    struct module_state *module;
    // Waves beyond even ones, as sums over places: they begin at one place and
    // end at another. Twice as many places as units: none turns around.
    int64_t *uneven;         // [2 * module * units + place]
    struct account *account; // by kernel
    struct waits waits[HDI_MAX_PRIORITIES + 1];
    uint64_t next_sample, sample;
    double spread_sum, spread_max;
    unsigned spreads;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static sim_event make_event(uint64_t end, uint64_t order, uint32_t lease)
{
    return (sim_event)end << 64 | order << LEASE_BITS | lease;
}

static uint64_t end_of(sim_event event)
{
    return (uint64_t)(event >> 64);
}

static uint32_t lease_of(sim_event event)
{
    return (uint32_t)event & ((1u << LEASE_BITS) - 1);
}

enum {
    ARITY = 4
};

static void push(struct sim *sim, sim_event event)
{
    size_t i = sim->event_count++;

    while (i > 0 && event < sim->events[(i - 1) / ARITY]) {
        sim->events[i] = sim->events[(i - 1) / ARITY];
        i = (i - 1) / ARITY;
    }
    sim->events[i] = event;
}

static sim_event pop(struct sim *sim)
{
    sim_event first = sim->events[0];
    sim_event last = sim->events[--sim->event_count];
    size_t i = 0;

    for (;;) {
        size_t child = i * ARITY + 1, end = child + ARITY;
        if (child >= sim->event_count)
            break;
        if (end > sim->event_count)
            end = sim->event_count;
        size_t least = child;
        for (size_t c = child + 1; c < end; c++) {
            least = sim->events[c] < sim->events[least] ? c : least;
        }
        if (last <= sim->events[least])
            break;
        sim->events[i] = sim->events[least];
        i = least;
    }
    sim->events[i] = last;
    return first;
}

// When the first of those that end soon ends; UINT64_MAX: there is none.
static uint64_t next_near(const struct sim *sim)
{
    const uint64_t *any = sim->near->any;
    uint32_t at = sim->swept % NEAR, word = at / 64;
    uint64_t next = any[(word + 1) % (NEAR / 64)];
    // The next 64 cycles; seldom there is nothing in them.
    uint64_t left = any[word] >> at % 64 | next << 1 << (63 - at % 64);

    if (left)
        return sim->swept + (uint64_t)__builtin_ctzll(left);
    if (sim->near->count == 0)
        return UINT64_MAX;
    do
        word = (word + 1) % (NEAR / 64);
    while (!any[word]);
    uint32_t slot = 64 * word + (uint32_t)__builtin_ctzll(any[word]);
    return sim->swept + (slot - at) % NEAR;
}

static void add_end(struct sim *sim, uint64_t end, uint32_t lease)
{
    struct near *near = sim->near;
    uint64_t bit = UINT64_C(1) << end % 64, *any = &near->any[end % NEAR / 64];
    uint16_t *last = &near->last[end % NEAR];

    sim->next = end < sim->next ? end : sim->next;
    if (end - sim->swept >= NEAR) {
        push(sim, make_event(end, sim->order++, lease));
        return;
    }
    if (*any & bit) {
        sim->running[lease].next = sim->running[*last].next;
        sim->running[*last].next = lease;
    } else {
        sim->running[lease].next = lease;
    }
    *any |= bit;
    *last = (uint16_t)lease;
    near->count++;
}

// The lease that ends first, at sim->next.
static uint32_t take_end(struct sim *sim)
{
    struct near *near = sim->near;
    uint64_t end = sim->next, far = UINT64_MAX;
    uint32_t lease;

    sim->swept = end;
    if (sim->event_count > 0 && end_of(sim->events[0]) == end) {
        lease = lease_of(pop(sim));
    } else {
        uint32_t last = near->last[end % NEAR];
        lease = sim->running[last].next;
        if (lease == last)
            near->any[end % NEAR / 64] &= ~(UINT64_C(1) << end % 64);
        sim->running[last].next = sim->running[lease].next;
        near->count--;
    }
    if (sim->event_count > 0)
        far = end_of(sim->events[0]);
    sim->next = least(next_near(sim), far);
    return lease;
}

// Bring a module's account up to `now` before its flow or power changes.
static void settle(struct sim *sim, uint32_t m, uint64_t now)
{
    struct module_state *module = &sim->module[m];

    module->energy += module->power * (double)(now - module->since);
    if (sim->counts_recent)
        hdi_recent_spread(&sim->recent, m, module->since, now,
                          (uint64_t)(module->flow * 1024));
    module->since = now;
}

// Heat follows power with the machine's time constant; the spread is how far
// the hottest module is from the coolest, over the mean.
static void sample(struct sim *sim, uint64_t now)
{
    const struct sim_machine *machine = sim->run->machine;
    double decay = exp(-(double)sim->sample / machine->heat);
    double low = INFINITY, high = 0, sum = 0;

    for (uint32_t m = 0; m < machine->shape.modules; m++) {
        struct module_state *module = &sim->module[m];
        settle(sim, m, now);
        double power = module->energy / (double)sim->sample;
        module->heat = power + (module->heat - power) * decay;
        module->energy = 0;
        low = fmin(low, module->heat);
        high = fmax(high, module->heat);
        sum += module->heat;
    }
    if (sum > 0) {
        double spread = (high - low) / (sum / machine->shape.modules);
        sim->spread_sum += spread;
        sim->spread_max = fmax(sim->spread_max, spread);
        sim->spreads++;
    }
    for (uint32_t c = 0; sim->run->timeline && c < sim->run->workload->channels;
         c++)
        sim_timeline_waiting(sim->run->timeline, c, now,
                             hdi_dispatcher_waiting(sim->dispatcher, c));
}

static void add_wait(struct sim *sim, uint8_t priority, uint64_t wait)
{
    struct waits *w = &sim->waits[priority];

    w->list[w->count++] = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
    w->sum += (double)wait;
    w->max = (double)wait > w->max ? (double)wait : w->max;
}

static double power_of(const struct sim *sim, const struct hdi_need *need,
                       uint16_t waves)
{
    const struct hdi_shape *shape = &sim->run->machine->shape;
    double power = 0;

    for (uint32_t r = 0; r < shape->resource_count; r++)
        power += (double)shape->resources[r].energy * need->amount[r] *
                 (shape->resources[r].shared ? 1 : waves);
    return power;
}

static void begin(struct sim *sim, const struct hdi_decision *decision,
                  uint64_t now)
{
    const struct sim_run *run = sim->run;
    const struct sim_kernel *kernel = &run->kernels->kernel[decision->tag];
    uint32_t m = decision->module, units = run->machine->shape.units;
    uint32_t waves = decision->waves, lease = decision->lease;
    uint64_t run_time = run->kernels->runs[kernel->first_run + decision->group];
    struct running *r = &sim->running[lease];
    struct account *account = &sim->account[decision->tag];
    struct module_state *module = &sim->module[m];

    double part = 1, power = account->power;
    // Groups of a kernel are sent one after the other.
    __builtin_prefetch(
        &run->kernels->runs[kernel->first_run + decision->group + 8]);
    if (decision->pieces > 0) {
        part = (double)waves / kernel->need.waves;
        power = power_of(sim, &kernel->need, decision->waves);
        sim->result->splits += decision->piece == 0;
    }
    double flow = kernel->flow * part;
    *r = (struct running){.run = run_time,
                          .work = kernel->share * part * (double)run_time,
                          .flow = flow,
                          .power = power,
                          .module = m};
    add_end(sim, now + run_time, lease);
    if (run->timeline)
        sim->shown[lease] =
            (struct shown){.begin = now,
                           .row = sim_timeline_begin(run->timeline, m),
                           .decision = *decision};

    settle(sim, m, now);
    module->flow += flow;
    module->power += power;
    module->wave_cycles += run_time * waves;
    module->even_waves += waves / units;
    int64_t *uneven = &sim->uneven[2 * m * units + decision->unit];
    uneven[0]++;
    uneven[waves % units]--;

    uint64_t inside = least(run_time, run->workload->cycles - now);
    account->cycles += inside;
    account->wave_cycles += inside * waves;

    // A split group has been sent when its last piece has.
    if (decision->pieces == 0 || decision->piece + 1 == decision->pieces) {
        add_wait(sim, kernel->need.priority, now - kernel->arrival);
        account->sent++;
        sim->result->sent++;
    }
    sim->result->decisions++;
}

static void end(struct sim *sim, uint32_t lease, uint64_t now)
{
    struct running *r = &sim->running[lease];
    struct module_state *module = &sim->module[r->module];

    settle(sim, r->module, now);
    module->flow -= r->flow;
    module->power -= r->power;
    sim->result->throughput += r->work;
    sim->result->finished++;
    if (sim->run->timeline) {
        const struct shown *shown = &sim->shown[lease];
        sim_timeline_end(sim->run->timeline, shown->row, &shown->decision,
                         shown->begin, now);
    }
    sim->result->completed +=
        hdi_dispatcher_release(sim->dispatcher, lease, r->run);
}

static void end_until(struct sim *sim, uint64_t now)
{
    while (sim->next <= now) {
        uint64_t at = sim->next;
        end(sim, take_end(sim), at);
    }
}

static void show_progress(const struct sim *sim, uint64_t now)
{
    fprintf(stderr, "\rsimulated %3.0f %%, %llu decisions",
            100.0 * (double)now / (double)sim->run->workload->cycles,
            (unsigned long long)sim->result->decisions);
}

static hd_status loop(struct sim *sim, struct hd_error *error)
{
    const struct sim_run *run = sim->run;
    const struct sim_kernels *kernels = run->kernels;
    uint64_t now = 0, end_of_run = run->workload->cycles, shown = hdi_now();
    uint64_t step = run->machine->round_cycles;
    size_t arrived = 0;

    while (now < end_of_run) {
        end_until(sim, now);
        sim->swept = now;
        while (arrived < kernels->count &&
               kernels->kernel[arrived].arrival <= now) {
            const struct sim_kernel *kernel = &kernels->kernel[arrived];
            struct hdi_packet packet = {.need = kernel->need,
                                        .groups = kernel->groups,
                                        .process = kernel->channel,
                                        .tag = arrived++};
            HDI_TRY(hdi_dispatcher_submit(sim->dispatcher, kernel->channel,
                                          &packet, kernel->arrival, error));
        }
        if (now >= sim->next_sample) {
            sample(sim, now);
            sim->next_sample += sim->sample;
            if (run->progress && hdi_now() - shown > 100000000) {
                shown = hdi_now();
                show_progress(sim, now);
            }
        }
        if (sim->counts_recent) {
            for (uint32_t m = 0; m < run->machine->shape.modules; m++)
                settle(sim, m, now);
        }

        struct hdi_decision decision;
        sim->result->rounds++;
        enum hdi_round round =
            hdi_dispatcher_round(sim->dispatcher, now, &decision);
        if (round == HDI_ROUND_SENT) {
            begin(sim, &decision, now);
            if (run->observe)
                run->observe(run->data, &decision, now);
            now += step;
            continue;
        }

        // Nothing changes before the first of these.
        uint64_t next = least(end_of_run, sim->next_sample);
        next = least(next, sim->next);
        if (arrived < kernels->count)
            next = least(next, kernels->kernel[arrived].arrival);
        next = least(next, hdi_dispatcher_next(sim->dispatcher, now));
        uint64_t rounds = next > now ? next - now : 1;
        if (step > 1) // as a rule it is one cycle
            rounds = (rounds + step - 1) / step;
        if (round == HDI_ROUND_STUCK) {
            uint64_t patience = hdi_dispatcher_patience(sim->dispatcher);
            if (rounds > patience)
                rounds = patience + 1;
            hdi_dispatcher_wait(sim->dispatcher, rounds - 1);
        }
        now += rounds * step;
    }
    end_until(sim, end_of_run);
    if (run->progress)
        fprintf(stderr, "\r%60s\r", "");
    return HD_OK;
}

// By digits of 11 bits, the last first; `spare` has as much room.
static void sort(uint32_t *list, uint32_t *spare, size_t count)
{
    enum {
        DIGITS = 1 << 11
    };

    for (unsigned shift = 0; shift < 32; shift += 11) {
        size_t place[DIGITS] = {0}, sum = 0;

        for (size_t i = 0; i < count; i++)
            place[list[i] >> shift & (DIGITS - 1)]++;
        for (unsigned digit = 0; digit < DIGITS; digit++) {
            size_t those = place[digit];
            place[digit] = sum;
            sum += those;
        }
        for (size_t i = 0; i < count; i++)
            spare[place[list[i] >> shift & (DIGITS - 1)]++] = list[i];
        memcpy(list, spare, count * sizeof(*list));
    }
}

static void summarise(uint32_t *list, uint32_t *spare, size_t count, double sum,
                      double max, struct sim_wait *wait)
{
    *wait = (struct sim_wait){.groups = count};
    if (count == 0)
        return;
    sort(list, spare, count);
    wait->mean = sum / (double)count;
    wait->p50 = list[(count - 1) / 2];
    wait->p99 = list[(size_t)((double)(count - 1) * 0.99)];
    wait->max = max;
}

// Blocks of a resource times the cycles they were held.
static double used_of(const struct sim *sim, uint32_t resource)
{
    const struct sim_kernels *kernels = sim->run->kernels;
    bool shared = sim->run->machine->shape.resources[resource].shared;
    double used = 0;

    for (size_t k = 0; k < kernels->count; k++) {
        const struct account *a = &sim->account[k];
        used += (double)kernels->kernel[k].need.amount[resource] *
                (double)(shared ? a->cycles : a->wave_cycles);
    }
    return used;
}

// Waves that the units of a module got, from fewest to most.
static void waves_of(const struct sim *sim, uint32_t m, uint64_t *fewest,
                     uint64_t *most)
{
    uint32_t units = sim->run->machine->shape.units;
    const int64_t *uneven = &sim->uneven[2 * m * units];
    uint64_t waves[HDI_MAX_UNITS] = {0};
    int64_t sum = 0;

    for (uint32_t place = 0; place < 2 * units; place++) {
        sum += uneven[place];
        waves[place % units] += (uint64_t)sum;
    }
    *fewest = UINT64_MAX;
    *most = 0;
    for (uint32_t q = 0; q < units; q++) {
        waves[q] += sim->module[m].even_waves;
        *fewest = least(*fewest, waves[q]);
        *most = waves[q] > *most ? waves[q] : *most;
    }
}

static void finish(struct sim *sim, uint32_t *list, uint32_t *spare)
{
    const struct sim_run *run = sim->run;
    const struct hdi_shape *shape = &run->machine->shape;
    struct sim_result *result = sim->result;
    double cycles = (double)run->workload->cycles, sum = 0, max = 0;

    // Groups that still wait count with their age.
    for (size_t k = 0; k < run->kernels->count; k++) {
        const struct sim_kernel *kernel = &run->kernels->kernel[k];
        for (uint32_t g = sim->account[k].sent;
             g < kernel->groups && kernel->arrival < run->workload->cycles; g++)
            add_wait(sim, kernel->need.priority,
                     run->workload->cycles - kernel->arrival);
    }
    for (unsigned p = 1; p <= HDI_MAX_PRIORITIES; p++) {
        struct waits *w = &sim->waits[p];
        summarise(w->list, spare, w->count, w->sum, w->max,
                  &result->by_priority[p]);
        memmove(list + result->groups, w->list, w->count * sizeof(*list));
        result->groups += w->count;
        sum += w->sum;
        max = fmax(max, w->max);
    }
    summarise(list, spare, result->groups, sum, max, &result->wait);

    result->cycles = run->workload->cycles;
    result->throughput /= cycles;
    for (uint32_t r = 0; r < shape->resource_count; r++)
        result->used[r] =
            used_of(sim, r) / (cycles * shape->modules * hdi_holders(shape, r) *
                               shape->resources[r].blocks);
    double most = 0, all = 0;
    result->unit_imbalance = 1;
    for (uint32_t m = 0; m < shape->modules; m++) {
        uint64_t low, high;
        waves_of(sim, m, &low, &high);
        if (low > 0)
            result->unit_imbalance =
                fmax(result->unit_imbalance, (double)high / (double)low);
        most = fmax(most, (double)sim->module[m].wave_cycles);
        all += (double)sim->module[m].wave_cycles;
    }
    result->module_imbalance = all > 0 ? most * shape->modules / all : 1;
    result->heat_mean = sim->spreads ? sim->spread_sum / sim->spreads : 0;
    result->heat_max = sim->spread_max;
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

hd_status sim_run(const struct sim_run *run, struct sim_result *result,
                  struct hd_error *error)
{
    const struct hdi_shape *shape = &run->machine->shape;
    const struct sim_kernels *kernels = run->kernels;
    struct sim sim = {.run = run, .result = result, .next = UINT64_MAX};
    size_t leases = (size_t)shape->modules * shape->units * shape->waves;
    size_t of_priority[HDI_MAX_PRIORITIES + 1] = {0}, groups = 0;
    uint32_t *list = NULL, *packets = NULL, most = 1;
    hd_status status;

    *result = (struct sim_result){0};
    if (leases > 65536)
        leases = 65536;
    for (size_t k = 0; k < kernels->count; k++)
        of_priority[kernels->kernel[k].need.priority] +=
            kernels->kernel[k].groups;
    for (unsigned p = 0; p <= HDI_MAX_PRIORITIES; p++)
        groups += of_priority[p];

    sim.near = calloc(1, sizeof(*sim.near));
    sim.events = calloc(leases, sizeof(*sim.events));
    sim.running = calloc(leases, sizeof(*sim.running));
    sim.module = calloc(shape->modules, sizeof(*sim.module));
    sim.uneven =
        calloc((size_t)2 * shape->modules * shape->units, sizeof(*sim.uneven));
    if (run->timeline)
        sim.shown = calloc(leases, sizeof(*sim.shown));
    sim.account = calloc(kernels->count + 1, sizeof(*sim.account));
    packets = calloc(run->workload->channels, sizeof(*packets));
    // All together, by priority behind it, and room to sort.
    list = calloc(3 * groups + 1, sizeof(*list));
    if (!sim.near || !sim.events || !sim.running || !sim.module ||
        !sim.uneven || (run->timeline && !sim.shown) || !sim.account ||
        !packets || !list) {
        status = hdi_fail(error, HD_ENOMEM,
                          "no memory for a simulation of "
                          "%zu groups",
                          groups);
        goto err_free;
    }
    for (size_t k = 0; k < kernels->count; k++) {
        uint32_t n = ++packets[kernels->kernel[k].channel];
        most = n > most ? n : most;
        sim.account[k].power = power_of(&sim, &kernels->kernel[k].need,
                                        kernels->kernel[k].need.waves);
    }
    for (unsigned p = 0, at = 0; p <= HDI_MAX_PRIORITIES; p++) {
        sim.waits[p].list = list + groups + at;
        at += (unsigned)of_priority[p];
    }
    sim.sample = run->workload->cycles / SAMPLES + 1;
    sim.next_sample = sim.sample;
    sim.counts_recent = run->policy.mixture.recent != 0;
    if (sim.counts_recent) {
        // 1,024 per weighted instruction, so that fractions are kept.
        status = hdi_recent_create(
            &sim.recent, shape->modules, HDI_RECENT_WINDOW, 16,
            (uint64_t)shape->units * shape->waves * HDI_RECENT_WINDOW * 1024,
            error);
        if (status != HD_OK)
            goto err_free;
    }
    struct hdi_dispatcher_options options = {.channels =
                                                 run->workload->channels,
                                             .packets = most,
                                             .leases = (uint32_t)leases,
                                             .seed = run->seed,
                                             .policy = run->policy,
                                             .recent = &sim.recent};
    options.policy.priorities = run->workload->priorities;
    status = hdi_dispatcher_create(shape, &options, &sim.dispatcher, error);
    if (status != HD_OK)
        goto err_recent;

    double started = cpu_seconds();
    status = loop(&sim, error);
    result->seconds = cpu_seconds() - started;
    if (status == HD_OK)
        finish(&sim, list, list + 2 * groups);

    hdi_dispatcher_destroy(sim.dispatcher);
err_recent:
    if (sim.counts_recent)
        hdi_recent_destroy(&sim.recent);
err_free:
    free(list);
    free(packets);
    free(sim.account);
    free(sim.uneven);
    free(sim.module);
    free(sim.running);
    free(sim.shown);
    free(sim.events);
    free(sim.near);
    return status;
}
