"""Carry a hook's stdin to the mash daemon and print its answer; silence whatever goes wrong.

It runs in every hook, so it costs no more than the bare interpreter: few imports, no json, one
write, and `_exit`, which skips the interpreter's tear-down. Python 3.9 syntax (stock macOS).
The first line it sends is described, byte for byte, in the package's `wire` module.
"""

import sys

try:
    import _signal as signal
    import _socket as socket
    import posix
    import select
except ImportError:  # another implementation of Python, or Windows
    import os as posix
    import select
    import signal
    import socket

DEADLINE_S = {"session-start": 0.8}
SHORT_S = 0.15
BODY_LIMIT = 1 << 20
REPLY_LIMIT = 1 << 16  # what a pipe takes in one write
CHUNK = 1 << 16
PATH_LIMIT = 100  # sun_path holds 104 bytes on macOS, 108 on Linux
OFF = (b"off", b"0", b"false", b"no")
FORWARDED = (
    b"MASH_RECORD_CAPTURE",
    b"MASH_RECORD_RECALL",
    b"MASH_FILE_RECALL",
    b"MASH_INTERNAL",
    b"CLAUDE_CONFIG_DIR",
    b"CODEX_HOME",
)
KEPT = (b"PATH", b"HOME", b"USER", b"LANG", b"LC_ALL", b"LC_CTYPE", b"TZ", b"TMPDIR")
FOR_TESTS = (b"MASH_TESTING", b"MASH_TEST_NOW_MS", b"MASH_FAILPOINT")
PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"


class Silence(Exception):
    """There is nothing to print, and no daemon to start."""


def run(name):
    """Answer one hook, then end the process: status 0 and valid or no output, in every case."""
    try:
        signal.signal(signal.SIGALRM, lambda *_: posix._exit(0))
        signal.setitimer(signal.ITIMER_REAL, DEADLINE_S.get(name, SHORT_S))
        reply = ask(name, sys.argv, getattr(posix, "environb", posix.environ))
        if is_hook_output(reply):
            write(reply)
    except BaseException:  # a hook must never disturb the agent
        pass
    posix._exit(0)


def ask(name, argv, env):
    """The daemon's answer to this hook, b"" for none."""
    if name == "file-read" and env.get(b"MASH_FILE_RECALL", b"").strip().lower() in OFF:
        return b""
    hold_standard_streams()
    first = read_what_is_there()
    if first and b'"SubagentStart"' in first:
        left_s = signal.getitimer(signal.ITIMER_REAL)[0] - DEADLINE_S.get(name, SHORT_S) + SHORT_S
        signal.setitimer(signal.ITIMER_REAL, max(left_s, 0.001))
    place = Place(argv, env)
    connection = (place.run and connect(place.run)) or await_daemon(place)
    return converse(connection, header(name, argv, env), first)


def is_hook_output(reply):
    """Whether the reply is one whole line of hook output, not half of one or something else."""
    if not reply.startswith(b'{"hookSpecificOutput":{') or not reply.endswith(b"}}\n"):
        return False
    reply.decode("utf-8")
    return reply.count(b"\n") == 1


def header(name, argv, env):
    """The first line: who asks, and the variables that matter to the answer."""
    words = [b"mash/1 hook", name.encode(), escape(encoded(argv[1])) if len(argv) > 1 else b"-"]
    names = FORWARDED
    if env.get(b"MASH_TESTING") == b"1":
        names += (b"MASH_TEST_NOW_MS",)
    words += [key + b"=" + escape(env[key]) for key in names if key in env]
    return b" ".join(words) + b"\n"


def escape(value):
    """Percent-escape all but the plain characters of a URL's path."""
    return b"".join([b"%c" % c if c in PLAIN else b"%%%02X" % c for c in value])


def hold_standard_streams():
    """Fill closed ones of the descriptors 0 to 2, so that no socket is taken for stdin."""
    while True:
        descriptor = posix.open("/dev/null", posix.O_RDWR)
        if descriptor > 2:
            return posix.close(descriptor)


def read_what_is_there():
    """The bytes that stdin holds now: b"" for none yet, None for its end."""
    poller = select.poll()
    poller.register(0, select.POLLIN)
    return read_stdin(CHUNK) if poller.poll(0) else b""


def read_stdin(limit):
    try:
        return posix.read(0, limit) or None
    except BlockingIOError:
        return b""
    except OSError:  # a directory, a terminal that hung up
        return None


def connect(run):
    """A connection to this user's daemon, None where none listens; else raises."""
    path = run + b"/s.sock"
    try:
        folder = posix.lstat(run)
        if folder.st_mode & 0o170077 != 0o040000 or folder.st_uid != posix.getuid():
            raise Silence
        if posix.lstat(path).st_mode & 0o170000 != 0o140000:
            raise Silence
        if len(path) > PATH_LIMIT:
            posix.chdir(run)
            path = b"s.sock"
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)  # a full backlog says so at once
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    connection.setblocking(True)
    if peer_uid(connection) != posix.getuid():
        raise Silence
    return connection


def peer_uid(connection):
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:  # LOCAL_PEERCRED of macOS and the BSDs
        credentials = connection.getsockopt(0, 1, 76)
    return int.from_bytes(credentials[4:8], sys.byteorder)


def converse(connection, first_line, first):
    """Send the line and stdin as it comes; the whole reply. Never waits for the end of stdin."""
    room = BODY_LIMIT - len(first or b"")
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    is_open = send(connection, first_line + (first or b"")) and first is not None
    if is_open:
        poller.register(0, select.POLLIN)
    else:
        end(connection)
    reply = b""
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == 0:
                chunk = read_stdin(min(CHUNK, room))
                room -= len(chunk or b"")
                if chunk is None or not send(connection, chunk) or not room:
                    poller.unregister(0)
                    end(connection)
                continue
            chunk = receive(connection)
            reply += chunk
            if len(reply) > REPLY_LIMIT:
                return b""
            if not chunk or reply.endswith(b"\n"):  # one line: no need to wait for the end
                return reply


def send(connection, data):
    try:
        connection.sendall(data)
    except (BrokenPipeError, ConnectionResetError):  # it has heard enough; its answer may be there
        return False
    return True


def receive(connection):
    try:
        return connection.recv(CHUNK)
    except ConnectionResetError:  # it closed without reading all that was sent
        return b""


def end(connection):
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def write(reply):
    """Write it whole; the host may have left its end of the pipe non-blocking."""
    while reply:
        try:
            reply = reply[posix.write(1, reply) :]
        except BlockingIOError:
            poller = select.poll()
            poller.register(1, select.POLLOUT)
            poller.poll()


class Place:
    """Where the daemon is met, and how a missing one is started.

    The second argument is written by the installer: the home to use, or `-` for the user's own
    places. MASH_HOME counts only without it (a checkout), or in tests: a repository must not be
    able to redirect an installed hook.
    """

    def __init__(self, argv, env):
        self.env = env
        self.is_installed = len(argv) > 2
        self.home = encoded(argv[2]) if self.is_installed and argv[2] != "-" else None
        if not self.is_installed or env.get(b"MASH_TESTING") == b"1":
            self.home = env.get(b"MASH_HOME") or self.home
        if self.home is None:
            # Looking up the user costs more than all else here, and may hang on a directory server.
            home = env.get(b"HOME")
            self.run = home + b"/.mash/run" if home and home.startswith(b"/") else None
        else:
            if not self.home.startswith(b"/"):
                self.home = encoded(posix.getcwd()) + b"/" + self.home
            self.run = self.home.rstrip(b"/") + b"/run"

    def command(self):
        """How to start the daemon: this interpreter, or for a checkout `mash` on PATH."""
        if self.is_installed and sys.executable:
            return [versioned(encoded(sys.executable)), b"-I", b"-m", b"mash_plugin.daemon"]
        for folder in self.env.get(b"PATH", b"").split(b":"):
            if folder.startswith(b"/") and posix.access(folder + b"/mash", posix.X_OK):
                # Plain `start` would wait for the gate that this process holds.
                return [folder + b"/mash", b"daemon", b"start", b"--foreground"]
        raise Silence

    def environment(self):
        """Little of the hook's own environment: it holds keys that the daemon must not have."""
        names = KEPT
        if self.env.get(b"MASH_TESTING") == b"1":
            names += FOR_TESTS
        kept = {key: self.env[key] for key in names if key in self.env}
        if self.home is not None:
            kept[b"MASH_HOME"] = self.home
        return kept


def versioned(python):
    """The interpreter behind the link `current`: an upgrade must not change a running daemon."""
    link, _, rest = python.rpartition(b"/bin/")
    try:
        target = posix.readlink(link)
    except OSError:
        return python
    if not target.startswith(b"/"):
        target = link.rpartition(b"/")[0] + b"/" + target
    return target + b"/bin/" + rest


def encoded(text):
    return text.encode(sys.getfilesystemencoding(), "surrogateescape")


def await_daemon(place):
    """Start the missing daemon, or wait for the one that another hook starts; the alarm ends it."""
    import fcntl

    if place.home is None:
        import pwd

        place.run = encoded(pwd.getpwuid(posix.getuid()).pw_dir) + b"/.mash/run"
    elif in_work_tree(place.home):
        raise Silence
    gate = child = None
    while True:
        connection = connect(place.run)
        if connection:
            return connection
        if gate is None:
            gate = take_gate(place.run, fcntl)
            if gate is not None:
                continue  # another one may have started it meanwhile
        elif child is None:
            child = spawn(place.command(), place.environment())
        else:
            ended, status = posix.waitpid(child, posix.WNOHANG)
            if ended and status:
                raise Silence
            if ended:
                child = None  # it met a daemon that was on its way out
        select.poll().poll(1 if child else 12)


def in_work_tree(folder):
    """A repository must not be able to bring a memory: no run folder is made inside one."""
    while folder:
        if posix.access(folder + b"/.git/HEAD", posix.F_OK) or holds_file(folder + b"/.git"):
            return True
        folder = folder.rpartition(b"/")[0]
    return False


def holds_file(path):
    try:
        found = posix.stat(path)
        return found.st_mode & 0o170000 == 0o100000 and found.st_size > 0
    except OSError:
        return False


def take_gate(run, fcntl):
    """The right to start a daemon, as a descriptor to keep; None while another one holds it."""
    flags = posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    try:
        gate = posix.open(run + b"/spawn.lock", flags, 0o600)
    except FileNotFoundError:
        make_folder(run)
        gate = posix.open(run + b"/spawn.lock", flags, 0o600)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        posix.close(gate)
        return None
    return gate


def make_folder(folder):
    parent = folder.rpartition(b"/")[0]
    if parent and not posix.access(parent, posix.F_OK):
        make_folder(parent)
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        pass


def spawn(command, environment):
    """Start it in a session of its own, holding nothing that the host waits for."""
    child = posix.fork()
    if child:
        return child
    try:
        posix.setsid()
        posix.chdir("/")
        null = posix.open("/dev/null", posix.O_RDWR)
        for descriptor in (0, 1, 2):
            posix.dup2(null, descriptor)
        posix.closerange(3, 4096)
        posix.execve(command[0], command, environment)  # noqa: S606 - no shell is the point
    finally:
        posix._exit(127)
