// Which unit gets a leaf, where units of a device share local memory.
//
// Units are in modules, such as the tiles of one multiprocessor. What a module
// has left is in the books of a dispatcher (dispatch/dispatcher.h): room for
// leaves on its units, a second-class resource, and local memory, a first-class
// one, of which a leaf gets a run of blocks for as long as it is on the unit.
// A leaf goes to the module where the most is left of both.
//
// A launch whose leaf finds a unit but no module with enough memory stands in
// line. The module where the most is left is kept for the first in line: others
// get nothing there until it has got its own. So small leaves that come and go
// cannot keep a large one waiting for ever.
//
// Any thread may call anything at any time.
#ifndef HDI_LAUNCH_UNIT_MODULES_H
#define HDI_LAUNCH_UNIT_MODULES_H

#include "launch/unit/port.h"

struct hdi_modules;

// What a leaf needs, and on which units it may be: those of `classes`, bits,
// that are attached, and that `may` says.
// `may` is called with the lock of the modules.
struct hdi_wish {
    const void *who; // compared only
    uint64_t bytes;  // local memory
    uint32_t classes;
    bool (*may)(const void *data, unsigned unit);
    const void *data;
};

enum hdi_placing {
    HDI_PLACED,
    HDI_PLACE_LATER,  // when leaves have ended
    HDI_PLACE_NOWHERE // on no unit that it may be on
};

// `modules` is NULL where units of the device share nothing. Ports stay the
// caller's.
hd_status hdi_modules_create(const struct hdi_capabilities *can,
                             const struct hdi_port *ports,
                             struct hdi_modules **modules,
                             struct hd_error *error);
void hdi_modules_destroy(struct hdi_modules *modules); // NULL is allowed

// Choose a unit with room, and take its leaf's local memory; give it back when
// the leaf has ended, or was not submitted.
enum hdi_placing hdi_modules_take(struct hdi_modules *modules,
                                  const struct hdi_wish *wish, unsigned *unit,
                                  struct hdi_hold *hold);
void hdi_modules_give(struct hdi_modules *modules, struct hdi_hold *hold);

// The list is for the unit that `hold` is of: say where its passes have their
// local memory there, and take as much for each other unit that may help, as
// far as there is some.
void hdi_modules_share(struct hdi_modules *modules, const struct hdi_wish *wish,
                       struct hdi_device_list *list, unsigned unit,
                       struct hdi_hold *hold);

// It does not ask any more.
void hdi_modules_forget(struct hdi_modules *modules, const void *who);

#endif
