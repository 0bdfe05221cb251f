"""gdb for Heddle's kernels: work-items by their global ids.

    gdb -x heddle-gdb.py --args heddle run --debug PROGRAM.lua ...

    heddle break LOCATION X [Y [Z]]   stop there when that work-item comes
    heddle items                      the work-items of the group that runs
    heddle item X [Y [Z]] [COMMAND]   a command, such as "bt" or "print a[3]",
                                      where that work-item stands
    heddle watch VARIABLE X [Y [Z]]   stop when that variable of it changes

What the script knows of memory is in src/backend/frame.h and
src/backend/cpu/fiber/fiber.c, where each offset is asserted.
"""

import re

import gdb

GLOBAL_ID = 8  # in struct hdi_item
SERVICES = 128  # in struct hdi_frame
STATE, LINE = 68, 72  # in struct hdi_item
STACK_POINTER = 80  # in struct hdi_fiber
STATES = ("runs", "waits at line", "waits for its sub-group at line", "ended",
          "waits for all work-groups at line",
          "waits for some of its sub-group at line")

# What a switch saves, by words from where the stack pointer stands, and the
# size of all (src/backend/cpu/fiber/stack.c).
SAVED = {
    "i386:x86-64": (
        {"r15": 1, "r14": 2, "r13": 3, "r12": 4, "rbx": 5, "rbp": 6, "rip": 7},
        "rsp",
        64,
    ),
    "aarch64": (
        {**{"x%d" % (19 + i): i for i in range(11)}, "pc": 11},
        "sp",
        176,
    ),
}


def read(address, size):
    """An unsigned number in the memory of the process."""
    memory = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(memory), "little")


def kernel_frame(frame):
    """The frame of the kernel itself that `frame` was called from, or None."""
    while frame is not None:
        try:
            frame.read_var("heddle_item")
            return frame
        except (ValueError, RuntimeError, gdb.error):
            frame = frame.older()
    return None


class Item:
    """One work-item of the group that runs on the selected thread."""

    def __init__(self, address):
        self.address = address
        self.id = tuple(read(address + GLOBAL_ID + 8 * d, 8) for d in range(3))
        self.state = read(address + STATE, 4)

    def where(self):
        """In words, what it does."""
        text = STATES[self.state]
        if text.endswith("line"):
            text += " %d" % read(self.address + LINE, 4)
        return text

    def registers(self):
        """The registers it goes on with, by name."""
        words, pointer_name, size = SAVED[
            gdb.selected_frame().architecture().name()
        ]
        pointer = read(self.address + STACK_POINTER, 8)
        values = {
            name: read(pointer + 8 * word, 8) for name, word in words.items()
        }
        values[pointer_name] = pointer + size
        return values


def current_item():
    """The work-item that the selected thread is in."""
    frame = kernel_frame(gdb.newest_frame())
    if frame is None:
        raise gdb.GdbError("this thread is not in a kernel built for debugging")
    return int(frame.read_var("heddle_item"))


def items():
    """All work-items of the group, in order."""
    services = read(read(current_item(), 8) + SERVICES, 8)
    first, size, count = (read(services + 8 * i, 8) for i in range(3))
    return [Item(first + i * size) for i in range(count)]


def full(ids):
    """Ids of three dimensions."""
    return tuple(ids) + (0,) * (3 - len(ids))


def find(ids):
    """The work-item with these global ids."""
    for item in items():
        if item.id == full(ids):
            return item
    raise gdb.GdbError("work-item %s is not in the group that runs" % (ids,))


def split(text, usage):
    """Take up to three numbers from the front: numbers, and what is left."""
    match = re.match(r"\s*((?:\d+(?:\s+|$)){1,3})(.*)$", text, re.S)
    if not match:
        raise gdb.GdbError("usage: " + usage)
    return [int(word) for word in match.group(1).split()], match.group(2)


def split_end(text, usage):
    """Take up to three numbers from the end: what is before, and numbers."""
    match = re.match(r"\s*(.*?)((?:\s+\d+){1,3})\s*$", text, re.S)
    if not match:
        raise gdb.GdbError("usage: " + usage)
    return match.group(1), [int(word) for word in match.group(2).split()]


def in_item(item, action):
    """Run action() with the registers of a work-item, in its kernel's frame."""
    gdb.newest_frame().select()
    kept = {}
    if item.address != current_item():
        if STATES[item.state] in ("runs", "ended"):
            raise gdb.GdbError("work-item %s stands nowhere" % (item.id,))
        for name, value in item.registers().items():
            kept[name] = int(gdb.parse_and_eval("(unsigned long)$" + name))
            gdb.execute("set $%s = %d" % (name, value))
    try:
        frame = kernel_frame(gdb.newest_frame())
        if frame is not None:
            frame.select()
        action()
    finally:
        gdb.newest_frame().select()
        for name, value in kept.items():
            gdb.execute("set $%s = %d" % (name, value))


class ItemBreakpoint(gdb.Breakpoint):
    """A breakpoint that only one work-item stops at."""

    def __init__(self, location, ids):
        super().__init__(location)
        self.ids = full(ids)

    def stop(self):
        frame = kernel_frame(gdb.newest_frame())
        return (
            frame is not None
            and Item(int(frame.read_var("heddle_item"))).id == self.ids
        )


class Heddle(gdb.Command):
    """Kernels of Heddle: break, items, item, watch."""

    def __init__(self):
        super().__init__("heddle", gdb.COMMAND_DATA, prefix=True)


class Break(gdb.Command):
    """Stop when one work-item comes there: heddle break LOCATION X [Y [Z]]"""

    def __init__(self):
        super().__init__("heddle break", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        ItemBreakpoint(*split_end(argument, self.__doc__))


class Items(gdb.Command):
    """List the work-items of the group that runs: heddle items"""

    def __init__(self):
        super().__init__("heddle items", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        here = current_item()
        for item in items():
            mark = "*" if item.address == here else " "
            print("%s (%d, %d, %d) %s" % (mark, *item.id, item.where()))


class At(gdb.Command):
    """Run a command where a work-item stands: heddle item X [Y [Z]] [COMMAND]"""

    def __init__(self):
        super().__init__("heddle item", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        ids, command = split(argument, self.__doc__)
        in_item(find(ids), lambda: gdb.execute(command or "frame", from_tty))


class Watch(gdb.Command):
    """Stop when a variable of a work-item changes: heddle watch VARIABLE X [Y [Z]]"""

    def __init__(self):
        super().__init__("heddle watch", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        variable, ids = split_end(argument, self.__doc__)
        in_item(
            find(ids), lambda: gdb.execute("watch -location " + variable)
        )


Heddle()
Break()
Items()
At()
Watch()
