// The typed fork/join macros behind heddle/task.h.
#ifndef HEDDLE_TASK_MACROS_H
#define HEDDLE_TASK_MACROS_H

#endif
