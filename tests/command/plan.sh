# heddle graph --stg and --allocations: problems in public formats, and files
# that are wrong.
. "$(dirname "$0")/common.sh"

# Schedules --------------------------------------------------------------------

# Two chains of 3 and 4, and one task of 5, between two without cost: on two
# processors 6 at best, since 12 are to be done.
cat >good.stg <<END
    6
    0    0    0
    1    3    1    0
    2    4    1    1
    3    1    1    0
    4    3    1    3
    5    1    1    0
    6    0    1    0
    7    0    5    2 4 5 6 1
# made by hand
END
expect 0 "" "$HEDDLE" graph --stg good.stg --procs 2
said "makespan 7 on 2 processors"
said "critical path 7, work over processors 6"
expect 0 "" "$HEDDLE" graph --stg good.stg --procs 1 --json
said '"makespan":12,"bound":12'
expect 0 "" "$HEDDLE" graph --stg=good.stg --procs 2 --json -o schedule.json
grep -q '"makespan":7' schedule.json || fail "schedule.json is wrong"

expect 2 "--stg takes --procs N" "$HEDDLE" graph --stg good.stg
expect 2 "exclude each other" "$HEDDLE" graph --stg good.stg --allocations a.csv
expect 2 "takes no program" "$HEDDLE" graph --stg good.stg --procs 2 a.lua
expect 2 "--capacity for --allocations" \
    "$HEDDLE" graph --stg good.stg --procs 2 --capacity 5
expect 2 "no PROGRAM.lua given" "$HEDDLE" graph
expect 2 "are for --stg" "$HEDDLE" graph --procs 2 a.lua
expect 1 "nowhere.stg" "$HEDDLE" graph --stg nowhere.stg --procs 2

wrong_stg() {
    message=$1
    shift
    printf '%s\n' "$@" >bad.stg
    expect 1 "$message" "$HEDDLE" graph --stg bad.stg --procs 2
}
wrong_stg "bad.stg:1: no task graph in it" "# nothing"
wrong_stg "bad.stg:2: task 1 where task 0 should stand" 1 "1 0 0"
wrong_stg "bad.stg:2: 'x' is no cost" 1 "0 x 0"
wrong_stg "bad.stg:2: the line ends where task should stand" 1 "0 1 2 1"
wrong_stg "bad.stg:2: task 0 follows itself" 1 "0 1 1 0"
wrong_stg "bad.stg:2: '7' is left over" 1 "0 1 0 7"
wrong_stg "2 tasks, where the first line says 3" 3 "0 1 0" "1 1 0"
wrong_stg "tasks wait for each other" 2 "0 1 1 1" "1 1 1 0"
wrong_stg "there is no task 2" 2 "0 1 1 2" "1 1 0"

# Placements -------------------------------------------------------------------

cat >good.csv <<END
id,lower,upper,size
a,0,4,10
b,0,2,20
c,2,4,20
d,4,6,30
END
expect 0 "height 30 bytes" "$HEDDLE" graph --allocations good.csv
said "id,lower,upper,size,offset"
{ printf '\357\273\277' && cat good.csv; } >marked.csv # as spreadsheets do
expect 0 "height 30 bytes" "$HEDDLE" graph --allocations marked.csv
expect 0 "height 30 bytes" \
    "$HEDDLE" graph --allocations good.csv --capacity 30
expect 0 "" "$HEDDLE" graph --allocations good.csv --json
said '"height":30,"bound":30'
expect 1 "30 bytes live at one time, more than the capacity of 29" \
    "$HEDDLE" graph --allocations good.csv --capacity 29
expect 2 "--capacity takes a number of bytes" \
    "$HEDDLE" graph --allocations good.csv --capacity -3

wrong_csv() {
    message=$1
    shift
    printf '%s\n' "$@" >bad.csv
    expect 1 "$message" "$HEDDLE" graph --allocations bad.csv --capacity 100
}
wrong_csv "bad.csv:1: no column 'size'" "id,lower,upper"
wrong_csv "bad.csv:1: two columns 'id'" "id,id,lower,upper,size"
wrong_csv "bad.csv:2: 'x' is no size" "id,lower,upper,size" "a,0,1,x"
wrong_csv "bad.csv:2: the line ends where size" "id,lower,upper,size" "a,0,1"
wrong_csv "bad.csv:2: more than 4 columns" "id,lower,upper,size" "a,0,1,2,3"
wrong_csv "bad.csv:3: 'b' ends at 1, not after" \
    "id,lower,upper,size" "a,0,1,2" "b,1,1,2"
