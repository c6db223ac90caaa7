"""Every limit and default of the program: sizes in bytes, times in seconds unless the name says otherwise."""

PROTOCOL = 1

MAX_PAYLOAD = 8 * 1024 * 1024  # of one frame
MAX_ATTACH_PAYLOAD = 64 * 1024  # of the first frame of a peer that is not attached yet
MAX_DEPTH = 64  # of nested arrays and objects in a payload
READ_SIZE = 64 * 1024
SEND_BATCH = 256 * 1024  # bytes of frames made ready for the socket at a time

WINDOW_FRAMES = 4096
WINDOW_BYTES = 64 * 1024 * 1024
OUTPUT_WINDOW = 1024 * 1024  # unacked bytes from which on no further output frame is made

PENDING_CONNECTIONS = 16
PENDING_SECONDS = 2.0
BACKLOG = 16
DETACHED_CHECK = 1.0  # how often a kernel or nursery with nothing attached looks at its grace, its directory and its socket

GRACE_MARGIN = 5.0  # after its grace: a kernel that has not ended itself by then is probed
PROBE_SECONDS = 5.0  # for its answer

SPOOL_SIZE = 512 * 1024
SPOOL_RESERVE = 160 * 1024  # not for starts of jobs: for the done of a cell, and the ends of jobs
JOURNAL_SIZE = 256 * 1024
JOURNAL_RECORD = 16 * 1024  # longest text of one record
OUTPUT_TEXT = 64 * 1024  # longest text of one output frame
OUTPUT_LIMIT = 16 * 1024 * 1024  # of a cell whose execute names none
OUTPUT_NAP = 0.003  # between two looks at the output of a cell that goes on writing
LATE_OUTPUT = 1024 * 1024  # bytes written in the midst of another write that wait for its end
OUTPUT_STALL = 1.0  # how long a writer waits for an attached daemon that takes nothing
PIPE_READ = 64 * 1024
FLOOD = 32 * 1024  # bytes of one read from which on the next one does not wait
SPAWN = 70e-6  # no process is started in less: the fastest took 57 us, and a cell takes 24 besides
LEFT_PIPES = 32  # that were left to processes of earlier cells; later ones write as the newest cell
PIPES_SECONDS = 0.05  # for a nursery to take the pipes of its kernel

HEAD = 48 * 1024
TAIL = 16 * 1024
UNSETTLED = 8 * 1024  # bytes of a cell's texts that are kept one by one before they are joined

SOURCE = 1024 * 1024  # bytes of a cell's source
VALUE = 64 * 1024
VALUE_STRING = 4000  # characters
VALUE_ITEMS = 50
VALUE_DEPTH = 12
DISPLAYS = 256  # of one cell, as many as a daemon keeps; later ones are written as text
DISPLAY = 4 * 1024 * 1024  # bytes of one display's data; beyond, the largest are left out
DISPLAYS_PENDING = 32 * 1024 * 1024  # bytes of displays that the window has no room for yet
MIME = 200  # characters of a MIME type
MIMES = 64  # types of one display; later ones are left out
METADATA_VALUES = 400  # of one display, at all levels; the daemon reads no small text with more: metadata with more is left out
MESSAGE = 16 * 1024  # of an error
TRACEBACK = 64 * 1024
SOURCES = 8 * 1024 * 1024  # cell sources kept for tracebacks and inspect

REQUEST_ID = 128  # characters
REQUESTS_WAITING = 16  # for the main thread
REQUEST_SECONDS = 30.0  # of a request on the main thread, which has tighter limits of its own; then it is interrupted
KEPT_ANSWERS = 16  # answers that can be asked for again
CHILDREN = 64  # forked for one request: each one but the first because the one before it hung or died
REASON = 300  # characters of why a value was skipped
VARIABLES = 1000  # rows of `variables`
VARIABLE_NAME = 200  # characters of a name, and of a type, in a row
PREVIEW = 200  # characters
VARIABLE_SECONDS = 0.5  # for size and text of one value
VARIABLES_SECONDS = 3.0  # for all; well below what a daemon waits for an answer
SAVED_VALUE = 8 * 1024 * 1024 + 4096  # of one saved value: 8 MiB, and what a pickle adds
SAVED_TOTAL = 64 * 1024 * 1024  # of a saved namespace
STATE_FILE = SAVED_TOTAL + 8 * 1024 * 1024  # largest file that is looked at: the last record names what was skipped
NAMES_TOLD = 1000  # names, and skipped ones, in an answer about a namespace; of the others their number
SAVED_VALUE_SECONDS = 2.0  # for saving or restoring one value
SAVE_SECONDS = 20.0  # for all; with the next one below REQUEST_SECONDS
END_SECONDS = 5.0  # for the end of the file and its way to the disk
FORK_SECONDS = 3.0  # of the request for a fork: what os.register_at_fork runs is interrupted then
CLONE_SECONDS = 1.0  # until a fork of the session answers; then it is killed
LEFT_LISTED = 100  # processes, and connections, named as left behind
KEPT_RESULTS = 16  # finished cells whose `done` can be asked for again
BACKGROUND_CELLS = 16  # that await while later cells run
TAKEOVER = 0.005  # a cell that runs longer has its link served by the link thread
CHECK_DELAY = 0.002  # of quiet after a cell before its kernel looks at its descriptors
STRAY_FIRST, STRAY_LAST = 0.01, 60.0  # from a cell to the first look for its ended children; twice as long each time, up to the last
CHECK_CELLS = 32  # cells without such quiet after which it looks all the same
SWITCH_INTERVAL = 0.05  # longest that a cell can set; the link thread waits for it at each turn
BUSY_TICK = 0.25  # longest sleep of the link thread while a cell runs
INTERRUPT_RETRY = 0.02  # a signal that met the kernel's own code is sent again after this
LOOP_RETRIES = 10  # signals after which an event loop that does not turn is interrupted itself
LOOP_STOPS = 10000  # of the event loop within one await of a cell; then it is taken for broken
EXIT_SECONDS = 2.0  # for exit handlers of a kernel that ends by itself
LAST_WORDS = 0.25  # for the `done` of a cell that takes its kernel along

OWN_DESCRIPTORS = 900  # the kernel's descriptors are moved here
THREAD_STACK = 256 * 1024
THREAD_START = 5.0  # for a thread's first instruction
LOWEST_RECURSION = 300  # below this the kernel's own code could fail

REST = 64 * 1024  # kept of each output pipe of a dead kernel
LOG = 1024 * 1024  # of one process; what comes later is not written
LOG_READ = 65536  # the end of a kernel's log of which its tail is made
LOG_TAIL = 4096
TERM_SECONDS = 0.25  # between TERM and KILL for what a kernel left behind
KILL_SECONDS = 5.0  # how long KILL is repeated before what is left is logged and left
LADDER_TICK = 0.02
OOM_SECONDS = 10.0  # deaths by SIGKILL that are looked at within this time may have one want of memory as their cause
EXIT_RESERVE = 8 * 1024  # of the exit file, taken when its kernel starts
ENDED_LISTED = 100  # processes named in an exit file
COMMAND = 200  # characters of a command line in an exit file

LIVE_JOBS = 64  # whose process group is not known to be gone
KEPT_JOBS = 1000  # finished ones whose record and output are kept
KEPT_JOB_BYTES = 256 * 1024 * 1024  # of output of finished jobs in all; the oldest go first
JOB_HEAD = 8 * 1024 * 1024  # first bytes of a job's output that are kept
JOB_TAIL = 8 * 1024 * 1024  # last bytes of it
JOB_GAPS = 64  # ranges of a job's output that could not be written, told apart
JOB_TRIM = 1024 * 1024  # of the middle of a file that a job writes itself, given back at a time
JOB_PAGE = 64 * 1024  # of output in an answer that names no limit
JOB_PAGE_MOST = 1024 * 1024
JOB_LINES = 20  # of head() and tail()
JOB_COMMAND = 1000  # characters of a command in a frame
JOB_READ = 256 * 1024  # of one look at a pipe, and the size of a job's pipes
JOB_PIPE_AHEAD = 512 * 1024  # bytes of a job that wait for the job that reads them
JOB_UNPIPED = 1.0  # for so long after its start a job waits rather than that output is dropped that a pipe() may still want
JOB_DRAIN = 0.1  # after the end of its first process a job's output has to end; what comes later is kept, too
JOB_DRAIN_MOST = 2.0  # the same for one that goes on writing
JOB_TICK = 0.25  # longest sleep of the keeper: it then sees descriptors that a cell closed
JOB_READ_AT_ONCE = 0.1  # a finish that a cell waits for is announced as read if the cell reads it within this
JOB_TERM = 0.25  # between TERM and KILL for the group of a job
JOB_STOP_SECONDS = 10.0  # longest wait for the end of a group that was told to end
JOB_END_SECONDS = 3.0  # for the jobs of a kernel that ends by itself
GROUP_LOOK = 1.0  # between two looks at groups that outlive their first process; longer if looking is slow
OUTBOX_SECONDS = 5.0
OUTBOX_TICK = 0.02

RELAY_HANDSHAKE = 5.0  # from a relay's attach to the hello
RELAY_QUIET = 0.005  # of silence after which a kernel that has nothing to do is taken to have sent all that it had
RELAY_UNSHOWN = 2.0  # what came of a cell that goes on is brought back after this
RELAY_BYTES = 768 * 1024  # of frames after which a relay returns: nothing is acked there, and at OUTPUT_WINDOW its kernel stops
RELAY_FRAMES = 1000
RELAY_DEATH = 1.0  # for a process that closed its connection to be gone
RELAY_END = 5.0  # for a kernel that was told to end
RELAY_NURSERY = 30.0  # for a nursery to start
RELAY_SPAWN = 10.0  # for its answer to a spawn
RELAY_EXIT_FILE = 2.0  # for a nursery to write how its kernel ended
RELAY_PER_CALL_START = 10.0  # for the interpreter of a cell without a kernel to be ready
RELAY_OUTPUT = 1024 * 1024  # bytes of its output from the front; beyond, TAIL of each stream
RELAY_REPLY = 4 * 1024 * 1024  # of its outcome as JSON
RELAY_ORDER = 1.0  # for a relay that connected to say what it wants
