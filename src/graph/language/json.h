// JSON as values of a graph program (RFC 8259).
#ifndef HDI_GRAPH_LANGUAGE_JSON_H
#define HDI_GRAPH_LANGUAGE_JSON_H

#include <lua.h>
#include <stddef.h>

// Push the value that `text` is: objects and arrays become tables, null
// becomes nil. Ends the script with an error that begins with `what` and names
// the line of the text where it is none.
void hdi_json_push(lua_State *lua, const char *what, const char *text,
                   size_t size);

#endif
