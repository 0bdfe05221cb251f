/* Launches that share the workers (src/launch/broker/broker.c): no piece is left while
 * all servers are idle.
 *
 * What happens under the broker's lock is one step here. A piece needs the local
 * memory of the module, which one piece at a time has: who finds none goes idle,
 * and is called again by who has ended one. Servers are jobs of the pool; a
 * launch on a worker gives a piece, serves too until one has run, and leaves.
 * With LEND servers may lend a piece to a unit, which ends it. */
#define SERVERS 2
#ifndef PIECES
#define PIECES 2 /* of a launch outside */
#endif

byte boxes, idle = SERVERS, called; /* pieces; servers at rest, submitted */
byte ran;
bool memory_taken, lent;

inline call_server() {
  if
  :: boxes > 0 && idle > 0 -> idle--; called++
  :: else
  fi
}

inline take(got) {
  if
  :: boxes > 0 && !memory_taken -> boxes--; memory_taken = 1; got = 1
  :: else -> got = 0
  fi
}

inline finish() { memory_taken = 0; ran++ }

inline go_idle() {
  idle++;
#ifndef REST_SILENTLY
  if
  :: any -> call_server()
  :: else
  fi
#endif
}

inline go_on() {
  if
  :: got -> call_server()
#ifndef APART /* idle a step after it found nothing */
  :: else -> go_idle()
#else
  :: else
#endif
  fi
}

proctype server() {
  bool got, any;
  do
  :: atomic { called > 0 -> called--; any = 0; take(got); go_on() };
     do
     :: got -> any = 1;
        atomic {
          if
          :: finish()
#ifdef LEND
          :: lent = 1
#endif
          fi;
          if
          :: take(got)
          :: got = 0 /* its turn is over */
          fi;
          go_on()
        }
     :: !got -> break
     od
#ifdef APART
     ; atomic { go_idle() }
#endif
  :: ran == PIECES + 1 && called == 0 -> break
  od
}

#ifdef LEND
active proctype unit() {
  do
  :: atomic { lent ->
       lent = 0;
       finish();
#ifndef RETURN_SILENTLY
       call_server()
#endif
     }
  :: ran == PIECES + 1 -> break
  od
}
#endif

proctype launch() {
  bool got, any;
  atomic { boxes++; call_server() };
  do
  :: ran > 0 -> break
  :: else ->
     atomic { take(got) };
     if
     :: got -> any = 1; atomic { finish() }
     :: else
     fi
  od;
#ifndef LEAVE_SILENTLY
  atomic {
    if
    :: any -> call_server()
    :: else
    fi
  }
#endif
}

proctype outside() {
  byte n;
  do
  :: n < PIECES -> n++; atomic { boxes++; call_server() }
  :: else -> break
  od;
  ran == PIECES + 1
}

init {
  atomic { run server(); run server(); run launch(); run outside() }
}
