// Where work runs, against other work. A module is the cores that share a
// last-level cache.
#ifndef HEDDLE_PLACE_H
#define HEDDLE_PLACE_H

/// A place; what can be named differs: see each member and the function that
/// takes it.
enum hd_place {
    HD_ANYWHERE,
    HD_ON_UNIT,             // a launch: on the unit named
    HD_ON_MODULE_OF,        // on the module of the unit or worker named
    HD_ON_DISTINCT_MODULES, // of a gang: each member on a module of its own
    HD_ON_WORKERS,          // a launch: on no unit
    HD_ON_WORKER            // a job: on the worker named
};

#endif
