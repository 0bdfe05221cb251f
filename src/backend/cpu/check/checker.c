// How an access goes: its range is found (by its site, else by its address),
// then it is looked at whether it is inside, may be written, has a value, and
// races; the first that fails is told. During a search (search.h) nothing is
// told.
//
//     phase    c->phase             first of the group
//              + passed[item]       barriers this work-item has come past
//
// Two accesses of one phase have no barrier between them. A new group begins
// above all phases of the one before, so its notes are worth nothing.
#include "backend/cpu/check/checker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/check/search.h"
#include "backend/cpu/check/shadow.h"
#include "base/text.h"

enum {
    // More are counted and not told.
    MAX_TOLD = 32,      // mistakes in one chunk
    SPARE = 4096,       // the widest access is far below [bytes]
    MAX_LINES = 1 << 18 // of shadow memory, before they are forgotten
};

// One is told once per site and kind.
enum mistake {
    OUTSIDE,
    NO_VALUE,
    CONSTANT,
    RACE,
    BY_ZERO,
    OF_LEAST
};

// Belongs to one unit; arrays per work-item are of the launch's full groups and
// live from one begin to the next. `lost` makes the launch fail as well: what
// was not looked at may be wrong.
struct hdi_checker {
    struct hdi_checks calls; // first: the frame's `checks` points to it
    const struct hdi_check_launch *launch;
    const struct hdi_frame *frame;
    const struct hdi_site *sites; // the kernel's table; NULL: not seen yet
    struct hdi_shadow shadow;
    uint32_t phase; // of the group's start; its work-items add their own
    uint32_t most_passed;
    uint32_t group[3]; // at hand
    bool in_group;
    uint32_t items;                  // of a full group
    uint32_t *passed;                // per work-item: barriers
    uint16_t *met;                   // per work-item: those of its sub-group
    struct hdi_variable **variables; // per work-item
    unsigned char *written;          // per byte of local memory
    uint64_t written_size;           // [bytes]
    struct told {
        const struct hdi_site *site;
        enum mistake mistake;
    } told[MAX_TOLD];
    unsigned told_count, untold_count;
    bool lost; // memory ran out: not all was seen
    struct hdi_text text;
    _Alignas(64) char spare[SPARE];
};

static struct hdi_checker *checker_of(const struct hdi_item *item)
{
    return (struct hdi_checker *)(uintptr_t)item->frame->checks;
}

static uint32_t number_of(const struct hdi_item *item)
{
    return item->local_id[0] +
           item->local_size[0] *
               (item->local_id[1] + item->local_size[1] * item->local_id[2]);
}

// Telling ---------------------------------------------------------------------

static bool is_news(struct hdi_checker *c, const struct hdi_site *site,
                    enum mistake mistake)
{
    for (unsigned i = 0; i < c->told_count; i++)
        if (c->told[i].site == site && c->told[i].mistake == mistake)
            return false;
    if (c->told_count == MAX_TOLD) {
        c->untold_count++;
        return false;
    }
    c->told[c->told_count++] = (struct told){site, mistake};
    return true;
}

static const char *verb(const struct hdi_site *site)
{
    if (site->access == 0)
        return "divides";
    if (site->access & HDI_ACCESS_ATOMIC)
        return "changes";
    return site->access & HDI_ACCESS_WRITE ? "writes" : "reads";
}

static void tell_who(struct hdi_checker *c, const struct hdi_item *item,
                     const struct hdi_site *site)
{
    hdi_text_print(&c->text,
                   "%s:%u: kernel '%s': work-item (%" PRIu64 ", %" PRIu64
                   ", %" PRIu64 ") %s ",
                   site->file, site->line, c->launch->kernel,
                   item->global_id[0], item->global_id[1], item->global_id[2],
                   verb(site));
}

// The memory that a pointer may touch, and what it is called.
struct range {
    const char *memory; // NULL: nowhere
    uint64_t size;
    const char *kind, *name;
    const struct hdi_check_arg *arg; // NULL: none
};

static struct range arg_range(const struct hdi_checker *c, uint64_t number)
{
    if (number >= c->launch->arg_count)
        return (struct range){0};
    const struct hdi_check_arg *arg = &c->launch->args[number];
    if (arg->local)
        return (struct range){c->frame->local + (uintptr_t)arg->memory,
                              arg->size, "local memory", arg->name, arg};
    const char *kind = arg->image   ? "image"
                       : arg->value ? "argument"
                                    : "buffer";
    return (struct range){arg->memory, arg->size, kind, arg->name, arg};
}

static bool holds(const struct range *range, const char *address)
{
    return range->memory && address >= range->memory &&
           address < range->memory + range->size;
}

// Where an address of unknown origin may lie.
// Arguments first, then local memory, then private variables: linear in all of
// them, for pointers of unknown origin alone.
static struct range find_range(const struct hdi_checker *c,
                               const struct hdi_item *item, const char *address,
                               struct hdi_variable **variable)
{
    for (uint32_t i = 0; i < c->launch->arg_count; i++) {
        struct range range = arg_range(c, i);
        if (holds(&range, address))
            return range;
    }
    struct range local = {c->frame->local, c->frame->local_bytes,
                          "local memory", "", NULL};
    if (holds(&local, address))
        return local;
    for (struct hdi_variable *v = c->variables[number_of(item)]; v;
         v = v->next) {
        struct range range = {v->memory, v->size, "private memory", "", NULL};
        if (holds(&range, address)) {
            *variable = v;
            return range;
        }
    }
    return (struct range){0};
}

static void tell_outside(struct hdi_checker *c, const struct hdi_item *item,
                         const struct hdi_site *site, const char *address,
                         uint64_t size, const struct range *range)
{
    if (!is_news(c, site, OUTSIDE))
        return;
    tell_who(c, item, site);
    hdi_text_print(&c->text, "%" PRIu64 " bytes ", size);
    if (!range->kind)
        hdi_text_print(&c->text, "at %p, outside of every buffer and variable",
                       (const void *)address);
    else if (!range->memory)
        hdi_text_print(&c->text, "through '%s', which is a null pointer",
                       range->name);
    else if (address < range->memory)
        hdi_text_print(&c->text,
                       "%" PRIu64 " bytes before %s '%s' of %" PRIu64 " bytes",
                       (uint64_t)(range->memory - address), range->kind,
                       range->name, range->size);
    else
        hdi_text_print(&c->text,
                       "at byte %" PRIu64 " of %s '%s', which has %" PRIu64
                       " bytes",
                       (uint64_t)(address - range->memory), range->kind,
                       range->name, range->size);
    hdi_text_print(&c->text, "\n");
}

static void tell_constant(struct hdi_checker *c, const struct hdi_item *item,
                          const struct hdi_site *site, const char *address,
                          const struct range *range)
{
    if (!is_news(c, site, CONSTANT))
        return;
    tell_who(c, item, site);
    hdi_text_print(
        &c->text, "byte %" PRIu64 " of %s%s%s%s, which is constant\n",
        (uint64_t)(address - range->memory), range->kind,
        *range->name ? " '" : "", range->name, *range->name ? "'" : "");
}

static void tell_no_value(struct hdi_checker *c, const struct hdi_item *item,
                          const struct hdi_site *site, const char *name,
                          const char *kind)
{
    if (!is_news(c, site, NO_VALUE))
        return;
    tell_who(c, item, site);
    hdi_text_print(&c->text, "%s%s%s%s, which has no value yet\n", kind,
                   *name ? " '" : "", name, *name ? "'" : "");
}

// Who touched a byte before: its number + 1, and where.
struct other {
    uint32_t item, site;
    bool writes;
};

static void tell_race(struct hdi_checker *c, const struct hdi_item *item,
                      const struct hdi_site *site, const struct range *range,
                      const char *address, const struct other *other)
{
    uint32_t number = other->item - 1;
    uint64_t id[3];

    if (!is_news(c, site, RACE))
        return;
    for (unsigned d = 0; d < 3; d++) {
        id[d] = item->global_id[d] - item->local_id[d] +
                number % item->local_size[d];
        number /= item->local_size[d];
    }
    tell_who(c, item, site);
    hdi_text_print(
        &c->text,
        "byte %" PRIu64 " of %s%s%s%s, which work-item (%" PRIu64 ", %" PRIu64
        ", %" PRIu64 ") %s on line %u with no barrier between\n",
        (uint64_t)(address - range->memory), range->kind,
        *range->name ? " '" : "", range->name, *range->name ? "'" : "", id[0],
        id[1], id[2], other->writes ? "writes" : "reads",
        c->sites[other->site].line);
}

// Looking ---------------------------------------------------------------------

// A new group: what was noted is worth nothing, local memory has no values.
// Shadow memory is cleared when phases run out, or when it has grown large:
// then the notes of earlier groups take more than they are worth.
static void start_group(struct hdi_checker *c, const struct hdi_item *item)
{
    memcpy(c->group, item->group_id, sizeof(c->group));
    c->in_group = true;
    c->phase += c->most_passed + 1;
    c->most_passed = 0;
    memset(c->passed, 0, c->items * sizeof(*c->passed));
    memset(c->met, 0, c->items * sizeof(*c->met));
    memset(c->written, 0, c->written_size);
    if (c->phase > UINT32_MAX / 2 || c->shadow.count > MAX_LINES) {
        hdi_shadow_clear(&c->shadow);
        c->phase = 1;
    }
}

// The first work-item of a group begins it; groups of a unit follow each other.
static void start(struct hdi_item *item)
{
    struct hdi_checker *c = checker_of(item);

    if (!c->in_group || memcmp(c->group, item->group_id, sizeof(c->group)) != 0)
        start_group(c, item);
    c->variables[number_of(item)] = NULL;
}

static void declare(struct hdi_item *item, struct hdi_variable *variable)
{
    struct hdi_variable **first = &checker_of(item)->variables[number_of(item)];
    variable->next = *first;
    *first = variable;
}

static void pass(struct hdi_item *item)
{
    struct hdi_checker *c = checker_of(item);
    uint32_t passed = ++c->passed[number_of(item)];
    if (passed > c->most_passed)
        c->most_passed = passed;
}

static void meet(struct hdi_item *item)
{
    checker_of(item)->met[number_of(item)]++;
}

// Who touches a byte now.
struct toucher {
    uint32_t phase;
    uint16_t number, met; // work-item + 1
};

static bool are_together(uint16_t one, uint16_t other)
{
    return (one - 1) / HDI_SUB_GROUP == (other - 1) / HDI_SUB_GROUP;
}

// The other touched it without a barrier between, be it of the sub-group.
static bool is_concurrent(const struct toucher *me, uint16_t other,
                          uint16_t met)
{
    return other != 0 && other != me->number &&
           !(are_together(me->number, other) && met != me->met);
}

// Which of two readers to keep a new one as; 0: as neither. When they are of
// two sub-groups, whoever writes races with one of them. Of one sub-group the
// two latest are kept: those who read before its barrier race with others only.
static uint16_t keep_reader(const struct hdi_shadow_byte *b,
                            const struct toucher *me)
{
    if (b->reader == 0 || b->reader == me->number)
        return HDI_SHADOW_READER;
    if (b->second == 0 || b->second == me->number)
        return HDI_SHADOW_SECOND;
    if (!are_together(b->reader, b->second))
        return 0;
    if (!are_together(b->reader, me->number) || b->read_met == me->met)
        return HDI_SHADOW_SECOND;
    return HDI_SHADOW_READER;
}

// Note an access to one byte. True: it is a race, and with whom.
// A race is told with one other, the writer first. What was atomic is noted per
// kept toucher, so that a plain access meets an atomic one as a race.
static bool note(struct hdi_shadow_byte *b, const struct toucher *me,
                 const struct hdi_site *site, struct other *other)
{
    bool writes = site->access & HDI_ACCESS_WRITE;
    // Two atomic accesses never race.
    uint16_t excused = site->access & HDI_ACCESS_ATOMIC ? UINT16_MAX : 0;
    bool race = true;

    if (b->phase != me->phase)
        *b = (struct hdi_shadow_byte){.phase = me->phase};
    excused &= b->atomic;
    if (is_concurrent(me, b->writer, b->write_met) &&
        !(excused & HDI_SHADOW_WRITER))
        *other = (struct other){b->writer, b->write_site, true};
    else if (writes && is_concurrent(me, b->reader, b->read_met) &&
             !(excused & HDI_SHADOW_READER))
        *other = (struct other){b->reader, b->read_site, false};
    else if (writes && is_concurrent(me, b->second, b->second_met) &&
             !(excused & HDI_SHADOW_SECOND))
        *other = (struct other){b->second, b->second_site, false};
    else
        race = false;

    uint16_t kept = writes ? HDI_SHADOW_WRITER : keep_reader(b, me);
    if (kept == HDI_SHADOW_WRITER) {
        b->writer = me->number;
        b->write_met = me->met;
        b->write_site = site->index;
    } else if (kept == HDI_SHADOW_READER) {
        b->reader = me->number;
        b->read_met = me->met;
        b->read_site = site->index;
    } else if (kept == HDI_SHADOW_SECOND) {
        b->second = me->number;
        b->second_met = me->met;
        b->second_site = site->index;
    }
    b->atomic = (uint16_t)(b->atomic & ~kept);
    if (site->access & HDI_ACCESS_ATOMIC)
        b->atomic |= kept;
    return race;
}

static void look_for_races(struct hdi_checker *c, const struct hdi_item *item,
                           const struct hdi_site *site,
                           const struct range *range, char *address,
                           uint64_t size)
{
    uint32_t number = number_of(item);
    const struct toucher me = {c->phase + c->passed[number],
                               (uint16_t)(number + 1), c->met[number]};

    for (uint64_t i = 0; i < size;) {
        uintptr_t at = (uintptr_t)address + i;
        struct hdi_shadow_byte *line = hdi_shadow_line(&c->shadow, at);
        if (!line) {
            c->lost = true;
            return;
        }
        for (uint64_t b = at % HDI_SHADOW_LINE; b < HDI_SHADOW_LINE && i < size;
             b++, i++) {
            struct other other;
            if (note(&line[b], &me, site, &other))
                tell_race(c, item, site, range, address + i, &other);
        }
    }
}

// Note what is written, and whether what is read has been.
// Once told, the bytes count as written, or each work-item would tell it again.
static void look_for_values(struct hdi_checker *c, const struct hdi_item *item,
                            const struct hdi_site *site,
                            const struct range *range, unsigned char *written,
                            uint64_t size)
{
    bool looks = (site->access & HDI_ACCESS_READ) != 0 &&
                 (site->access & HDI_ACCESS_COPY) == 0;

    if (looks && memchr(written, 0, size))
        tell_no_value(c, item, site, range->name, range->kind);
    if (looks || site->access & HDI_ACCESS_WRITE)
        memset(written, 1, size); // told once
}

static bool is_inside(const struct range *range, const char *at, uint64_t size)
{
    return holds(range, at) &&
           size <= (uint64_t)(range->memory + range->size - at);
}

// Somewhere else to touch.
// NULL: a copy has no place to go to, so it must not happen.
static void *spare(struct hdi_checker *c, const struct hdi_site *site,
                   uint64_t size)
{
    return site->access & HDI_ACCESS_COPY || size > SPARE ? NULL : c->spare;
}

static bool is_constant(const struct range *range,
                        const struct hdi_variable *variable)
{
    return (range->arg && range->arg->constant) ||
           (variable && variable->constant);
}

// Only the copies are written.
// During a search what is outside goes to spare memory, as when it is checked,
// and what is inside goes to the copies, which are filled when touched.
static void *touch_again(struct hdi_checker *c, const struct hdi_item *item,
                         const struct hdi_site *site, char *at, uint64_t size,
                         const struct range *range,
                         const struct hdi_variable *variable)
{
    bool writes = site->access & HDI_ACCESS_WRITE;
    bool inside = is_inside(range, at, size);
    bool sealed = is_constant(range, variable) ||
                  (range->arg && !range->arg->local && !range->arg->writable);
    int arg = range->arg ? (int)(range->arg - c->launch->args)
              : variable && variable->constant ? HDI_SEARCH_PROGRAM
                                               : HDI_SEARCH_ELSEWHERE;

    inside = inside && !(writes && sealed);
    if (inside && range->arg && !range->arg->local)
        hdi_search_copy(c->launch->search, at, size);
    else if (!inside)
        hdi_search_look(c->launch, c->frame, item, site, arg, at, size);
    return inside ? at : spare(c, site, size);
}

// Images are looked at by texel (visit()); their memory is not followed here.
static void *touch(struct hdi_item *item, void *address, uint64_t size,
                   const struct hdi_site *site, struct hdi_variable *variable)
{
    struct hdi_checker *c = checker_of(item);
    char *at = address, *local = c->frame->local;
    struct range range = {0};

    if (size == 0)
        return address;
    if (!c->sites)
        c->sites = site - site->index;
    switch ((enum hdi_object)site->object) {
    case HDI_OBJECT_ARG:
        if (site->number < c->launch->arg_count &&
            c->launch->args[site->number].image)
            return address;
        range = arg_range(c, site->number);
        break;
    case HDI_OBJECT_PRIVATE:
    case HDI_OBJECT_LOCAL:
    case HDI_OBJECT_PROGRAM:
        range = (struct range){variable->memory, variable->size, "variable",
                               site->name, NULL};
        break;
    case HDI_OBJECT_UNKNOWN:
        range = find_range(c, item, at, &variable);
        if (!range.memory && c->launch->has_images &&
            !(c->launch->search && site->access & HDI_ACCESS_WRITE))
            return address;
        break;
    }
    // What nobody writes is not raced for.
    if (range.arg && range.arg->image && !range.arg->writable)
        return address;
    if (c->launch->search)
        return touch_again(c, item, site, at, size, &range, variable);
    if (!is_inside(&range, at, size)) {
        tell_outside(c, item, site, at, size, &range);
        return spare(c, site, size);
    }
    if (site->access & HDI_ACCESS_WRITE && is_constant(&range, variable)) {
        tell_constant(c, item, site, at, &range);
        return spare(c, site, size);
    }
    if (variable && variable->written) {
        look_for_values(c, item, site, &range,
                        variable->written + (at - variable->memory), size);
        return address;
    }
    if (c->written_size > 0 && at >= local && at < local + c->written_size)
        look_for_values(c, item, site, &range, c->written + (at - local), size);
    look_for_races(c, item, site, &range, at, size);
    return address;
}

static void unset(struct hdi_item *item, const struct hdi_site *site)
{
    struct hdi_checker *c = checker_of(item);

    if (!c->launch->search)
        tell_no_value(c, item, site, site->name, "variable");
}

static void tell_texel(struct hdi_checker *c, const struct hdi_item *item,
                       const struct hdi_site *site,
                       const struct hdi_check_arg *image, const int32_t at[4])
{
    if (!is_news(c, site, OUTSIDE))
        return;
    tell_who(c, item, site);
    for (int axis = 0; axis < 4; axis++)
        if (image->texels[axis] > 0)
            hdi_text_print(&c->text, "%s%" PRIi32, axis ? ", " : "texel (",
                           at[axis]);
    hdi_text_print(&c->text, ") of image '%s', which has ", image->name);
    for (int axis = 0; axis < 4; axis++)
        if (image->texels[axis] > 0)
            hdi_text_print(&c->text, "%s%" PRIi32, axis ? " x " : "",
                           image->texels[axis]);
    hdi_text_print(&c->text, "\n");
}

static void visit(struct hdi_item *item, const void *image, int32_t x,
                  int32_t y, int32_t z, int32_t layer,
                  const struct hdi_site *site)
{
    struct hdi_checker *c = checker_of(item);
    const int32_t at[4] = {x, y, z, layer};
    bool inside = true;
    uint32_t arg = 0;

    while (arg < c->launch->arg_count && c->launch->args[arg].image != image)
        arg++;
    if (c->launch->search || arg == c->launch->arg_count)
        return;
    const struct hdi_check_arg *found = &c->launch->args[arg];
    for (int axis = 0; axis < 4; axis++)
        inside &= found->texels[axis] == 0 ||
                  (at[axis] >= 0 && at[axis] < found->texels[axis]);
    if (!inside)
        tell_texel(c, item, site, found, at);
}

static void divide(struct hdi_item *item, uint32_t how,
                   const struct hdi_site *site)
{
    struct hdi_checker *c = checker_of(item);
    bool zero = how == HDI_DIVISION_BY_ZERO;

    if (how == HDI_DIVISION_SOUND || c->launch->search ||
        !is_news(c, site, zero ? BY_ZERO : OF_LEAST))
        return;
    tell_who(c, item, site);
    hdi_text_print(&c->text, "%s, whose result is any value\n",
                   zero ? "an integer by 0" : "the least integer by -1");
}

// Chunks ----------------------------------------------------------------------

struct hdi_checker *hdi_checker_create(void)
{
    static const struct hdi_checks calls = {start, declare, touch, unset,
                                            pass,  meet,    visit, divide};
    struct hdi_checker *c = calloc(1, sizeof(*c));

    if (c)
        c->calls = calls;
    return c;
}

void hdi_checker_destroy(struct hdi_checker *checker)
{
    if (!checker)
        return;
    hdi_shadow_clear(&checker->shadow);
    hdi_text_free(&checker->text);
    free(checker->written);
    free(checker->variables);
    free(checker->passed);
    free(checker->met);
    free(checker);
}

bool hdi_checker_begin(struct hdi_checker *c,
                       const struct hdi_check_launch *launch,
                       struct hdi_frame *frame)
{
    c->items =
        frame->local_size[0] * frame->local_size[1] * frame->local_size[2];
    c->written_size = frame->local_bytes;
    free(c->passed);
    free(c->met);
    free(c->variables);
    free(c->written);
    c->passed = calloc(c->items, sizeof(*c->passed));
    c->met = calloc(c->items, sizeof(*c->met));
    c->variables = calloc(c->items, sizeof(struct hdi_variable *));
    c->written = calloc(c->written_size + 1, 1);
    if (!c->passed || !c->met || !c->variables || !c->written)
        return false;
    // Buffers may have gone, and others come in their place.
    hdi_shadow_clear(&c->shadow);
    hdi_text_free(&c->text);
    c->launch = launch;
    c->frame = frame;
    c->sites = NULL;
    c->in_group = c->lost = false;
    c->told_count = c->untold_count = 0;
    frame->checks = &c->calls;
    return true;
}

// That memory ran out counts as a mistake, so the launch does not pass as
// checked.
unsigned hdi_checker_end(struct hdi_checker *c, const char **text)
{
    if (c->untold_count > 0)
        hdi_text_print(&c->text, "and more mistakes, at %u accesses\n",
                       c->untold_count);
    if (c->lost || c->text.failed)
        hdi_text_print(&c->text, "memory ran out while checking: not all "
                                 "accesses were looked at\n");
    *text = c->text.data ? c->text.data : "";
    return c->told_count + c->lost;
}
