#include "backend/cpu/lines.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

// Of DWARF 5: numbers 6.2.5 (instructions), 7.5.6 (forms), 7.22 (contents).
enum {
    COPY = 1,
    ADVANCE_PC,
    ADVANCE_LINE,
    SET_FILE,
    CONST_ADD_PC = 8,
    FIXED_ADVANCE_PC,
    EXTENDED = 0,
    END_SEQUENCE = 1,
    SET_ADDRESS,
    FORM_STRING = 0x08,
    FORM_DATA1 = 0x0b,
    FORM_DATA2 = 0x05,
    FORM_UDATA = 0x0f,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f,
    CONTENT_PATH = 1,
    MAX_FORMATS = 16
};

// What is left of some bytes. Reading past the end gives 0 and sets `failed`.
struct cursor {
    const unsigned char *at, *end;
    bool failed;
};

struct section {
    const unsigned char *data;
    size_t size;
};

static const unsigned char *take(struct cursor *c, uint64_t size)
{
    static const unsigned char nothing[16];

    if (size > (uint64_t)(c->end - c->at)) {
        c->failed = true;
        c->at = c->end;
        return nothing;
    }
    const unsigned char *data = c->at;
    c->at += size;
    return data;
}

static uint64_t read_number(struct cursor *c, unsigned bytes)
{
    const unsigned char *data = take(c, bytes);
    uint64_t n = 0;

    for (unsigned i = bytes; i-- > 0;)
        n = n << 8 | data[i];
    return n;
}

static uint64_t read_varying(struct cursor *c, bool is_signed)
{
    uint64_t n = 0;
    unsigned shift = 0;
    unsigned char byte;

    do {
        byte = *take(c, 1);
        if (shift < 64)
            n |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->failed);
    if (is_signed && shift < 64 && byte & 0x40)
        n |= ~(uint64_t)0 << shift;
    return n;
}

static const char *read_string(struct cursor *c)
{
    const unsigned char *end = memchr(c->at, '\0', (size_t)(c->end - c->at));

    if (!end) {
        c->failed = true;
        return "";
    }
    return (const char *)take(c, (uint64_t)(end - c->at) + 1);
}

static struct section find_section(const unsigned char *image, size_t size,
                                   const char *wanted)
{
    const struct section none = {0};
    Elf64_Ehdr head;

    if (size < sizeof(head))
        return none;
    memcpy(&head, image, sizeof(head));
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > size ||
        head.e_shnum > (size - head.e_shoff) / sizeof(Elf64_Shdr) ||
        head.e_shstrndx >= head.e_shnum)
        return none;

    Elf64_Shdr names, s;
    const unsigned char *headers = image + head.e_shoff;
    memcpy(&names, headers + head.e_shstrndx * sizeof(s), sizeof(s));
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
        return none;
    size_t length = strlen(wanted) + 1;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        memcpy(&s, headers + i * sizeof(s), sizeof(s));
        if (s.sh_name < names.sh_size && length <= names.sh_size - s.sh_name &&
            memcmp(image + names.sh_offset + s.sh_name, wanted, length) == 0 &&
            s.sh_offset <= size && s.sh_size <= size - s.sh_offset)
            return (struct section){image + s.sh_offset, s.sh_size};
    }
    return none;
}

// One table: the lines of one kernel, a program for a small machine.
struct table {
    struct cursor files; // the entries, and how they are written
    uint64_t file_count;
    unsigned format_count;
    uint64_t content[MAX_FORMATS], form[MAX_FORMATS];
    struct section strings;
    unsigned step, line_range, opcode_base;
    int line_base;
    unsigned char lengths[256]; // operands of the standard instructions
    struct cursor program;
};

static void read_format(struct cursor *c, struct table *t)
{
    t->format_count = (unsigned)read_number(c, 1);
    if (t->format_count > MAX_FORMATS) {
        c->failed = true;
        t->format_count = 0;
    }
    for (unsigned i = 0; i < t->format_count; i++) {
        t->content[i] = read_varying(c, false);
        t->form[i] = read_varying(c, false);
    }
}

// One value of an entry; the text when it is one.
static const char *read_form(struct cursor *c, const struct table *t,
                             uint64_t form)
{
    switch (form) {
    case FORM_STRING:
        return read_string(c);
    case FORM_LINE_STRP: {
        uint64_t offset = read_number(c, 4);
        struct cursor s = {t->strings.data, t->strings.data + t->strings.size,
                           false};
        take(&s, offset);
        return s.failed ? "" : read_string(&s);
    }
    case FORM_UDATA:
        read_varying(c, false);
        return NULL;
    case FORM_DATA1:
        take(c, 1);
        return NULL;
    case FORM_DATA2:
        take(c, 2);
        return NULL;
    case FORM_DATA16:
        take(c, 16);
        return NULL;
    default:
        c->failed = true;
        return NULL;
    }
}

// Read one entry of a list of folders or files; its path.
static const char *read_entry(struct cursor *c, const struct table *t)
{
    const char *path = "";

    for (unsigned i = 0; i < t->format_count; i++) {
        const char *text = read_form(c, t, t->form[i]);
        if (t->content[i] == CONTENT_PATH && text)
            path = text;
    }
    return path;
}

// Read the head of the table at the cursor, and go on to the next one.
static bool read_table(struct cursor *c, struct table *t)
{
    uint64_t length = read_number(c, 4);
    const unsigned char *begin = take(c, length);
    struct cursor in = {begin, begin + (c->failed ? 0 : length), c->failed};

    if (read_number(&in, 2) != 5)
        return false;
    read_number(&in, 2); // size of an address and of a segment
    uint64_t head = read_number(&in, 4);
    t->program = in;
    take(&t->program, head);
    t->step = (unsigned)read_number(&in, 1);
    read_number(&in, 2); // instructions per word, statements
    t->line_base = (signed char)read_number(&in, 1);
    t->line_range = (unsigned)read_number(&in, 1);
    t->opcode_base = (unsigned)read_number(&in, 1);
    for (unsigned i = 1; i < t->opcode_base; i++)
        t->lengths[i] = (unsigned char)read_number(&in, 1);

    read_format(&in, t);
    uint64_t folders = read_varying(&in, false);
    for (uint64_t i = 0; i < folders && !in.failed; i++)
        read_entry(&in, t);
    read_format(&in, t);
    t->file_count = read_varying(&in, false);
    t->files = in;
    return !in.failed && !t->program.failed && t->line_range > 0 &&
           t->opcode_base > 0;
}

struct row {
    uint64_t address, file;
    uint32_t line;
};

// Run the program up to the row that covers `address`: the last one before a
// row beyond it.
static bool find_row(struct table *t, uint64_t address, struct row *found)
{
    const struct row first = {.file = 1, .line = 1};
    struct row now = first, last = {0};
    bool has_last = false;
    struct cursor *c = &t->program;

    while (c->at < c->end && !c->failed) {
        unsigned code = (unsigned)read_number(c, 1);
        bool row = false, end = false;
        if (code >= t->opcode_base) {
            unsigned n = code - t->opcode_base;
            now.address += n / t->line_range * t->step;
            now.line += (uint32_t)(t->line_base + (int)(n % t->line_range));
            row = true;
        } else if (code == EXTENDED) {
            uint64_t length = read_varying(c, false);
            const unsigned char *data = take(c, length);
            struct cursor in = {data, data + (c->failed ? 0 : length), false};
            uint64_t what = read_number(&in, 1);
            if (what == SET_ADDRESS)
                now.address = read_number(&in, 8);
            row = end = what == END_SEQUENCE;
        } else if (code == COPY) {
            row = true;
        } else if (code == ADVANCE_PC) {
            now.address += read_varying(c, false) * t->step;
        } else if (code == ADVANCE_LINE) {
            now.line += (uint32_t)read_varying(c, true);
        } else if (code == SET_FILE) {
            now.file = read_varying(c, false);
        } else if (code == CONST_ADD_PC) {
            now.address += (255 - t->opcode_base) / t->line_range * t->step;
        } else if (code == FIXED_ADVANCE_PC) {
            now.address += read_number(c, 2);
        } else {
            for (unsigned i = 0; i < t->lengths[code]; i++)
                read_varying(c, false);
        }
        if (!row)
            continue;
        if (has_last && last.address <= address && address < now.address) {
            *found = last;
            return true;
        }
        last = now;
        has_last = !end;
        if (end)
            now = first;
    }
    return false;
}

bool hdi_lines_find(const void *image, size_t size, uint64_t address,
                    char *file, size_t file_size, uint32_t *line)
{
    struct section lines = find_section(image, size, ".debug_line");
    struct cursor c = {lines.data, lines.data + lines.size, false};
    struct table t = {.strings = find_section(image, size, ".debug_line_str")};
    struct row row;

    while (c.at < c.end && !c.failed) {
        if (!read_table(&c, &t) || !find_row(&t, address, &row) ||
            row.line == 0)
            continue;
        const char *path = "";
        for (uint64_t i = 0; i <= row.file && i < t.file_count; i++)
            path = read_entry(&t.files, &t);
        snprintf(file, file_size, "%s", path);
        *line = row.line;
        return true;
    }
    return false;
}
