// The simulator of a dispatcher, as a command.
#ifndef HEDDLE_SIM_SIM_H
#define HEDDLE_SIM_SIM_H

// `heddle sim ...`: argv[0] is the name shown in messages. Returns the exit
// status: 0 done, 1 failed, 2 wrong use.
int sim_main(int argc, char **argv);

#endif
