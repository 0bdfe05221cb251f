// A child of bench/launch.c:
//
//     launch_NAME start SOURCE FOLDER    build, and say when kernels can run
//     launch_NAME first SOURCE FOLDER    the same after one product of matrices
//     launch_NAME launch SOURCE FOLDER   time launches
//     launch_NAME batch SOURCE FOLDER    time launches that are not waited for
//
// The first two print a time of the monotonic clock [ms], which is the same for
// all processes; the others a line of four numbers and of two.
#include "bench/launch_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/figure.h"

enum {
    MAX_SOURCE = 1 << 20, // [bytes]
    LAUNCHES = 4001,
    IDLE_LAUNCHES = 51,
    BATCHES = 101,
    BATCH = 1000,   // in flight
    IDLE = 10,      // [ms]
    GROUPS = 16384, // work-groups
    GROUP = 64      // work-items
};

char *launch_read_source(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, MAX_SOURCE);

    if (!file || !text || fread(text, 1, MAX_SOURCE - 1, file) == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

// The median of one launch, each after `idle` [ms]. [us]
static double time_launch(const char *kernel, long groups, int count, int idle)
{
    static double times[LAUNCHES];

    for (int i = 0; i < count; i++) {
        if (idle)
            nanosleep(&(struct timespec){.tv_nsec = idle * 1000000L}, NULL);
        double begin = figure_now();
        implementation.run(kernel, groups, GROUP);
        times[i] = (figure_now() - begin) * 1000;
    }
    return figure_median(times, count);
}

// The median per launch of batches. [us]
static double time_batch(bool in_order)
{
    static double times[BATCHES];

    for (int i = 0; i < BATCHES; i++) {
        double begin = figure_now();
        implementation.batch("nothing", BATCH, in_order);
        times[i] = (figure_now() - begin) * 1000 / BATCH;
    }
    return figure_median(times, BATCHES);
}

// [ns]
static double time_group(const char *kernel)
{
    double one = time_launch(kernel, 1, LAUNCHES / 10, 0);
    double many = time_launch(kernel, GROUPS, LAUNCHES / 10, 0);
    return (many - one) * 1000 / (GROUPS - 1);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    implementation.build(argv[2], argv[3]);
    if (strcmp(argv[1], "start") == 0) {
        printf("%f\n", figure_now());
    } else if (strcmp(argv[1], "first") == 0) {
        implementation.multiply();
        printf("%f\n", figure_now());
    } else if (strcmp(argv[1], "batch") == 0) {
        time_batch(true);
        double in_order = time_batch(true);
        printf("%f %f\n", in_order, time_batch(false));
    } else {
        time_launch("nothing", 1, LAUNCHES / 4, 0);
        double back_to_back = time_launch("nothing", 1, LAUNCHES, 0);
        double after_idle = time_launch("nothing", 1, IDLE_LAUNCHES, IDLE);
        printf("%f %f %f %f\n", back_to_back, after_idle, time_group("nothing"),
               time_group("mark"));
    }
    return 0;
}
