// Figures as JSON lines, one per figure, and the medians behind them.
#ifndef HEDDLE_BENCH_FIGURE_H
#define HEDDLE_BENCH_FIGURE_H

#include <stdint.h>

struct figure {
    const char *bench, *name, *metric; // `name` is the case
    double value;
    const char *unit;
    const char *peer; // what the value is relative to; optional
    const char *op;   // "<=" or ">=" with a bar; NULL: no bar
    double bar;
};

// Print one line on stdout, at once.
void figure_print(const struct figure *figure);

// A figure that could not be measured, and why.
void figure_skip(const struct figure *figure, const char *reason);

// The median of `count` values, which are reordered.
double figure_median(double *values, int count);

double figure_now(void); // [ms]

#endif
