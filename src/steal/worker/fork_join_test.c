// Tasks give the results of serial code, whatever their shape, however many
// workers there are and however many are spawned.
#define HD_COUNT_TASKS

#include <sys/wait.h>
#include <unistd.h>

#include "heddle/task.h"
#include "tests/check.h"

static struct hd_pool *make_pool(unsigned workers)
{
    struct hd_pool_params params = {.workers = workers};
    struct hd_error error;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    CHECK(hd_pool_workers(pool) == workers);
    return pool;
}

// Shapes ----------------------------------------------------------------------

struct pair {
    double x, y;
};

struct large {
    uint8_t bytes[48];
};

typedef int (*operation)(int);

static int negate(int n)
{
    return -n;
}

HD_TASK(int, seven)
{
    return 7;
}

HD_VOID_TASK(touch)
{
}

HD_VOID_TASK(store, int *, to, int, value)
{
    *to = value;
}

HD_TASK(char, mixed, char, a, double, b, short, c, const char *, d, float, e,
        uint8_t, f, uint8_t, g, bool, h)
{
    return a == 1 && b == 2.5 && c == -3 && strcmp(d, "four") == 0 &&
                   e == 5.5f && f == 6 && g == 7 && h
               ? 'y'
               : 'n';
}

HD_TASK(struct pair, swap, struct pair, p)
{
    return (struct pair){p.y, p.x};
}

HD_TASK(struct large, invert, struct large, l)
{
    for (int i = 0; i < 48; i++)
        l.bytes[i] ^= 0xff;
    return l;
}

HD_TASK(long double, twice, long double, x)
{
    return 2 * x;
}

HD_TASK(const char *, name_of, int, i)
{
    return i ? "one" : "zero";
}

HD_TASK(int, apply, operation, f, int, n)
{
    return f(n);
}

HD_TASK_DECLARE(static, bool, is_odd, unsigned, n);

HD_TASK(bool, is_even, unsigned, n)
{
    if (n == 0)
        return true;
    hd_spawn(worker, is_odd, n - 1);
    return hd_join(worker, is_odd);
}

HD_TASK_DEFINE(static, bool, is_odd, unsigned, n)
{
    if (n == 0)
        return false;
    hd_spawn(worker, is_even, n - 1);
    return hd_join(worker, is_even);
}

HD_VOID_TASK(all_shapes, int, rounds)
{
    struct large l = {{0}};

    for (int i = 0; i < rounds; i++) {
        int stored = 0;
        l.bytes[i % 48]++;
        hd_spawn(worker, seven);
        hd_spawn(worker, touch);
        hd_spawn(worker, store, &stored, i + 1);
        hd_spawn(worker, mixed, 1, 2.5, -3, "four", 5.5f, 6, 7, true);
        hd_spawn(worker, swap, (struct pair){i, -i});
        hd_spawn(worker, invert, l);
        hd_spawn(worker, twice, (long double)i);
        hd_spawn(worker, name_of, 1);
        hd_spawn(worker, apply, negate, i);
        hd_spawn(worker, is_even, 9);
        CHECK(!hd_join(worker, is_even));
        CHECK(hd_join(worker, apply) == -i);
        CHECK(strcmp(hd_join(worker, name_of), "one") == 0);
        CHECK(hd_join(worker, twice) == 2.0L * i);
        struct large inverted = hd_join(worker, invert);
        for (int k = 0; k < 48; k++)
            CHECK((inverted.bytes[k] ^ l.bytes[k]) == 0xff);
        struct pair swapped = hd_join(worker, swap);
        CHECK(swapped.x == -i && swapped.y == i);
        CHECK(hd_join(worker, mixed) == 'y');
        hd_join(worker, store);
        CHECK(stored == i + 1);
        hd_join(worker, touch);
        CHECK(hd_join(worker, seven) == 7);
        CHECK(hd_call(worker, seven) == 7 && seven(worker) == 7);
    }
}

// Known problems --------------------------------------------------------------

static uint64_t serial_fib(int n)
{
    return n < 2 ? (uint64_t)n : serial_fib(n - 1) + serial_fib(n - 2);
}

HD_TASK(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    hd_spawn(worker, fib, n - 1);
    uint64_t b = hd_call(worker, fib, n - 2);
    return hd_join(worker, fib) + b;
}

struct board {
    uint32_t columns, left, right; // attacked in this row
};

static struct board place(struct board b, uint32_t bit)
{
    return (struct board){b.columns | bit, (b.left | bit) << 1,
                          (b.right | bit) >> 1};
}

static uint64_t serial_queens(int n, int row, struct board b)
{
    uint64_t found = 0;

    if (row == n)
        return 1;
    for (uint32_t bit = 1; bit < 1u << n; bit <<= 1)
        if (!((b.columns | b.left | b.right) & bit))
            found += serial_queens(n, row + 1, place(b, bit));
    return found;
}

// Spawns in a loop, joins in another.
HD_TASK(uint64_t, queens, int, n, int, row, struct board, b)
{
    uint64_t found = 0;
    int spawned = 0;

    if (row == n)
        return 1;
    for (uint32_t bit = 1; bit < 1u << n; bit <<= 1)
        if (!((b.columns | b.left | b.right) & bit)) {
            hd_spawn(worker, queens, n, row + 1, place(b, bit));
            spawned++;
        }
    while (spawned-- > 0)
        found += hd_join(worker, queens);
    return found;
}

// An unbalanced tree: the number of children of a node is drawn from its hash.
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

static int children_of(uint64_t node, int depth)
{
    return depth >= 12 ? 0 : depth < 3 ? 6 : (int)(mix(node) % 8 < 3) * 3;
}

static uint64_t serial_tree(uint64_t node, int depth)
{
    uint64_t nodes = 1;

    for (int i = 0; i < children_of(node, depth); i++)
        nodes += serial_tree(mix(node + (uint64_t)i + 1), depth + 1);
    return nodes;
}

HD_TASK(uint64_t, tree, uint64_t, node, int, depth)
{
    int children = children_of(node, depth);
    uint64_t nodes = 1;

    for (int i = 0; i < children; i++)
        hd_spawn(worker, tree, mix(node + (uint64_t)i + 1), depth + 1);
    for (int i = 0; i < children; i++)
        nodes += hd_join(worker, tree);
    return nodes;
}

// More tasks than the stack holds ---------------------------------------------

HD_TASK(int, add_one, int, n)
{
    return n + 1;
}

HD_TASK(uint64_t, sum_to, int, n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++)
        hd_spawn(worker, add_one, i);
    for (int i = n; i > 0; i--) {
        int one = hd_join(worker, add_one);
        CHECK(one == i);
        sum += (uint64_t)one;
    }
    return sum;
}

// Overflows, and inside the tasks that overflow spawns and overflows again.
HD_TASK(uint64_t, wide, int, n, int, depth)
{
    uint64_t tasks = 1;

    if (depth == 0)
        return 1;
    for (int i = 0; i < n; i++)
        hd_spawn(worker, wide, i % 1000 == 999 ? 3 : 0, depth - 1);
    for (int i = 0; i < n; i++)
        tasks += hd_join(worker, wide);
    return tasks;
}

static uint64_t serial_wide(int n, int depth)
{
    uint64_t tasks = 1;

    for (int i = 0; depth > 0 && i < n; i++)
        tasks += serial_wide(i % 1000 == 999 ? 3 : 0, depth - 1);
    return tasks;
}

static void run_all(struct hd_worker *worker, void *data)
{
    uint64_t n = 300000;
    uint64_t *spawned = data;

    hd_call(worker, all_shapes, 200);
    CHECK(hd_call(worker, is_even, 500));
    CHECK(hd_call(worker, fib, 24) == serial_fib(24));
    CHECK(hd_call(worker, queens, 8, 0, (struct board){0, 0, 0}) ==
          serial_queens(8, 0, (struct board){0, 0, 0}));
    CHECK(hd_call(worker, tree, 4, 0) == serial_tree(4, 0));
    CHECK(hd_call(worker, sum_to, (int)n) == n * (n + 1) / 2);
    CHECK(hd_call(worker, wide, (int)n, 3) == serial_wide((int)n, 3));
    *spawned = n;
}

static void results_are_those_of_serial_code(unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);

    for (int i = 0; i < 3; i++) {
        uint64_t spawned = 0;
        hd_pool_run(pool, run_all, &spawned);
        CHECK(spawned > 0);
    }
    hd_pool_destroy(pool);
}

// A function that is no task forks as well, and calls tasks as functions, with
// forks of its caller around it.
static uint64_t outside(struct hd_worker *worker, int n)
{
    hd_spawn(worker, fib, n);
    hd_spawn(worker, fib, n + 1);
    uint64_t sum = fib(worker, n + 2) + hd_join(worker, fib);
    return sum + hd_join(worker, fib);
}

HD_TASK(uint64_t, through, int, n, int, depth)
{
    uint64_t before = outside(worker, n);

    if (depth == 0)
        return before;
    hd_spawn(worker, through, n, depth - 1);
    uint64_t between = outside(worker, n);
    hd_spawn(worker, fib, n);
    uint64_t plain = through(worker, n, depth - 1);
    uint64_t last = hd_join(worker, fib);
    CHECK(before == between && last == serial_fib(n));
    return plain + hd_join(worker, through);
}

static void fork_in_functions(struct hd_worker *worker, void *data)
{
    int n = 200000; // more than the stack holds

    (void)data;
    CHECK(hd_call(worker, through, 5, 7) == 128 * 2 * serial_fib(7));
    for (int i = 0; i < n; i++)
        hd_spawn(worker, add_one, i);
    CHECK(hd_call(worker, through, 3, 4) == 16 * 2 * serial_fib(5));
    for (int i = n; i > 0; i--)
        CHECK(hd_join(worker, add_one) == i);
}

static void functions_fork_as_tasks_do(unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);

    hd_pool_run(pool, fork_in_functions, NULL);
    hd_pool_destroy(pool);
}

static void every_task_is_counted_once(void)
{
    struct hd_pool *pool = make_pool(3);
    struct hd_worker_counters c;
    uint64_t result, tasks = 0;

    hd_pool_run(pool, run_all, &result);
    for (unsigned i = 0; i < 3; i++) {
        hd_pool_counters(pool, i, &c);
        tasks += c.tasks;
        CHECK(c.stolen <= c.tasks);
    }
    // One job, and every spawn: 10 and is_even's 9 in each of 200 rounds, ...
    uint64_t expected = 1 + 200 * (10 + 9) + 500 + (serial_fib(25) - 1) +
                        300000 + (serial_wide(300000, 3) - 1);
    expected += serial_tree(4, 0) - 1;
    CHECK(tasks > expected); // and the queens' placements
    CHECK(tasks < expected + 3000);
    hd_pool_destroy(pool);
}

// Misuse ends the program with a message, it does not lose a task.
HD_VOID_TASK(forgets_to_join)
{
    hd_spawn(worker, seven);
}

static void forget(struct hd_worker *worker, void *data)
{
    (void)data;
    hd_call(worker, forgets_to_join);
}

static void a_missing_join_is_noticed(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(2);
        struct hd_pool *pool = make_pool(1);
        hd_pool_run(pool, forget, NULL);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

int main(void)
{
    a_missing_join_is_noticed();
    for (unsigned workers = 1; workers <= 5; workers++)
        results_are_those_of_serial_code(workers);
    for (unsigned workers = 1; workers <= 3; workers += 2)
        functions_fork_as_tasks_do(workers);
    every_task_is_counted_once();
    return 0;
}
