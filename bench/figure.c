#include "bench/figure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

static void print_head(const struct figure *f)
{
    printf("{\"bench\":\"%s\",\"case\":\"%s\",\"metric\":\"%s\"", f->bench,
           f->name, f->metric);
}

static void print_end(const struct figure *f)
{
    if (f->peer)
        printf(",\"peer\":\"%s\"", f->peer);
    if (f->op)
        printf(",\"op\":\"%s\",\"bar\":%g", f->op, f->bar);
}

void figure_print(const struct figure *f)
{
    print_head(f);
    printf(",\"value\":%.4g,\"unit\":\"%s\"", f->value, f->unit);
    print_end(f);
    if (f->op) {
        bool holds = f->op[0] == '<' ? f->value <= f->bar : f->value >= f->bar;
        printf(",\"holds\":%s", holds ? "true" : "false");
    }
    printf("}\n");
    fflush(stdout);
}

void figure_skip(const struct figure *f, const char *reason)
{
    print_head(f);
    print_end(f);
    printf(",\"skipped\":\"%s\"}\n", reason);
    fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double figure_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double figure_now(void)
{
    return (double)hdi_now() / 1e6;
}
