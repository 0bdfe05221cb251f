// `heddle sim`: parses its own words.
#include "commands.h"
#include "sim/sim.h"

static int run(int count, char **words)
{
    char name[] = "heddle sim";

    words[0] = name;
    return sim_main(count, words);
}

const struct command sim_command = {
    .name = "sim",
    .summary = "simulate the dispatch of work-groups to modules",
    .own = run,
};
