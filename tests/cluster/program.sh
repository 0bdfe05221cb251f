#!/bin/sh
# program.sh START IMPLEMENTATION HEDDLE FOLDER PICTURE: a graph program runs unchanged on
# several processes, and what it writes is written once.
start=$1 implementation=$2 heddle=$3 source=$4 picture=$5
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
HEDDLE_CACHE=$folder/cache
export HEDDLE_CACHE

run() { # processes, file, options
    processes=$1 file=$2
    shift 2
    timeout 120 "$start" "$implementation" "$processes" "$heddle" run \
        "$source/examples/heat/heat.lua" --set steps=12 --set width=97 \
        --set height=61 --out end="$folder/$file" "$@" >"$folder/out" 2>&1
    code=$?
    [ $code -ne 77 ] || { cat "$folder/out"; exit 77; }
    if grep -q 'built without' "$folder/out"; then
        echo "skipped: $(cat "$folder/out")"
        exit 77
    fi
    if [ $code -ne 0 ] || [ "$(grep -c 'wrote end' "$folder/out")" -ne 1 ]; then
        cat "$folder/out" >&2
        echo "$processes processes: code $code" >&2
        exit 1
    fi
}
run 1 one.raw
for processes in 2 3 4; do
    run $processes several.raw
    cmp "$folder/one.raw" "$folder/several.raw" || exit 1
done
run 2 several.raw --nodes 2 --set layout='tiles 10x13 cyclic'
cmp "$folder/one.raw" "$folder/several.raw" || exit 1
run 2 several.raw --nodes cpu,numa
cmp "$folder/one.raw" "$folder/several.raw" || exit 1

# A checkpoint of three processes is taken over by two.
run 3 several.raw --checkpoint "$folder/ck" --every 0
cmp "$folder/one.raw" "$folder/several.raw" || exit 1
rm "$folder/several.raw"
run 2 several.raw --checkpoint "$folder/ck" --resume
cmp "$folder/one.raw" "$folder/several.raw" || exit 1

# The planet: work-items that own an element in each plane, work-groups that a
# segment cuts, ranges of some planes and ranges beyond the picture. It is the
# same on any number of processes, where its pictures are fields.
"$picture" 120 60 "$folder/map.ppm"
code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || exit 1
planet() { # processes, file, options
    processes=$1 file=$2
    shift 2
    timeout 120 "$start" "$implementation" "$processes" "$heddle" run \
        "$source/examples/planet/planet.lua" --in map="$folder/map.ppm" \
        --in night="$folder/map.ppm" --set size=150 \
        --out image="$folder/$file" "$@" >"$folder/out" 2>&1 &&
        [ "$(grep -c 'wrote image' "$folder/out")" -eq 1 ] || {
        cat "$folder/out" >&2
        echo "the planet on $processes processes" >&2
        exit 1
    }
}
if [ $code -eq 0 ]; then
    planet 1 planet.raw
    for processes in 2 3 4; do
        planet $processes planets.raw
        cmp "$folder/planet.raw" "$folder/planets.raw" || exit 1
    done
    planet 1 planets.raw --nodes 5
    cmp "$folder/planet.raw" "$folder/planets.raw" || exit 1
fi

# Processes that do not build the same graph are told so, and end at once: not when
# one has not answered for a minute.
cat >"$folder/one.cl" <<END
kernel void one(global int *a) { a[get_global_id(0)] = 1; }
END
cat >"$folder/other.lua" <<END
local a, b = field("a", "int", 8), field("b", "int", 8)
local c, d = field("c", "int", 8), field("d", "int", 8)
overwrite(a)
if setting("kernel", false) then
  forall(kernel("one.cl", "one"), {a})
else
  fill(a, 1)
end
read(a) overwrite(b) copy(a, b)
-- These overlap, so they are started.
if setting("start", false) then
  read(a) overwrite(c) copy(a, c)
else
  overwrite(c) forall(kernel("one.cl", "one"), {c})
end
read(b) overwrite(d) copy(b, d)
output("c", c)
output("d", d)
if setting("twice", false) then b = agile(b, "tiles 1 cyclic") end
output("b", b)
END
cat >"$folder/other.sh" <<END
rank=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
[ "\$rank" = 1 ] && set -- --set "\$1=true" || set --
exec "$heddle" run "$folder/other.lua" "\$@"
END
for setting in twice kernel start; do
    timeout 40 "$start" "$implementation" 2 sh "$folder/other.sh" $setting \
        >"$folder/out" 2>&1
    code=$?
    if [ $code -eq 0 ] || [ $code -eq 124 ] ||
        ! grep -qE 'process [01] calls' "$folder/out"; then
        cat "$folder/out" >&2
        echo "graphs that differ by '$setting': code $code" >&2
        exit 1
    fi
done
