# SPDX-License-Identifier: Apache-2.0
"""Perfetto's traces, read as its trace processor reads them: packets by time, a stack of slices for
each track, and names by the numbers of their sequence. Shares no code with the writer."""

import collections
import pathlib
import shutil
import subprocess

PROTO = pathlib.Path(__file__).parent / "perfetto.proto"

# Numbers of fields, see perfetto.proto.
CLEARED, NEEDED = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
VALUES = (2, 3, 4, 6, 7)  # of annotations


def samples_in(path):
    """The number of samples in a JSON file so far."""
    return path.read_text().count('"type":"sample"') if path.exists() else 0


class Fault(Exception):
    """The file violates the format."""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Fault(f"a number that does not end at {at}")
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [value, ...]} of a message, each a number or bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise Fault(f"type {tag & 7} of a field")
        if at > len(data):
            raise Fault("a field that is longer than its message")
        found[tag >> 3].append(value)
    return found


def one(message, number, default=None):
    values = message.get(number, [])
    if len(values) > 1:
        raise Fault(f"field {number} is there {len(values)} times")
    return values[0] if values else default


def text(value):
    """Strings have to be UTF-8; those of kernel_delay have no control characters, either."""
    try:
        value = value.decode()
    except UnicodeDecodeError as fault:
        raise Fault(f"{value!r} is not UTF-8") from fault
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in value):
        raise Fault(f"{value!r} has control characters")
    return value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Track:
    def __init__(self, message):
        self.name = text(one(message, 2, b""))
        self.parent = one(message, 5)
        thread, process = one(message, 4), one(message, 3)
        self.tid = self.pid = self.thread = self.process = None
        if thread is not None:
            thread = fields(thread)
            self.pid, self.tid = one(thread, 1), one(thread, 2)
            self.thread = text(one(thread, 5))
        if process is not None:
            process = fields(process)
            self.pid, self.process = one(process, 1), text(one(process, 6))
        self.counter = one(message, 8) is not None

    def __eq__(self, other):
        return vars(self) == vars(other)


Event = collections.namedtuple("Event", "track kind name at end depth notes stack begins ends")
Sample = collections.namedtuple("Sample", "at pid tid cpu mode stack")


class Sequence:
    """Names that the packets of a sequence refer to by number."""

    def __init__(self):
        self.names = collections.defaultdict(dict)

    def intern(self, message):
        for number, entries in message.items():
            for entry in map(fields, entries):
                iid = one(entry, 1)
                if not iid or iid in self.names[number]:
                    raise Fault(f"{iid} is no new number in list {number}")
                if number in (6, 7, 19):
                    self.names[number][iid] = entry
                elif number == 16:
                    self.names[number][iid] = one(entry, 2).hex()
                else:
                    self.names[number][iid] = text(one(entry, 2))

    def name(self, number, iid):
        if iid not in self.names[number]:
            raise Fault(f"{iid} is not in list {number}")
        return self.names[number][iid]

    def stack(self, iid):
        """[(function, file, build ID, address)], outermost first."""
        if not iid:
            return None
        frames = [self.name(6, frame) for frame in self.name(7, iid)[2]]
        found = []
        for frame in frames:
            mapping = self.name(19, one(frame, 3))
            build_id = one(mapping, 2)
            found.append((self.name(5, one(frame, 2)),
                          "/".join(self.name(17, path) for path in mapping[7]),
                          self.name(16, build_id) if build_id else None, one(frame, 4)))
        return found


class Trace:
    """tracks: {uuid: Track}; slices, instants, counters: [Event]; samples; clocks: [{id: ns}]"""

    def __init__(self, data):
        self.tracks, self.clocks, self.samples = {}, [], []
        self.slices, self.instants, self.counters = [], [], []
        self.open = collections.defaultdict(list)
        self.sequences = {}
        events = []
        message = fields(data)
        if set(message) - {1}:
            raise Fault(f"fields {sorted(message)} of the trace")
        for packet in map(fields, message[1]):
            self.packet(packet, events)
        for at, event, sequence in sorted(events, key=lambda event: event[0]):
            self.event(at, event, sequence)
        left = sum(map(len, self.open.values()))
        if left:
            raise Fault(f"{left} slices do not end")

    def packet(self, packet, events):
        number, flags = one(packet, 10), one(packet, 13)
        if not number or not flags & NEEDED:
            raise Fault("a packet of no sequence")
        if flags & CLEARED:
            self.sequences[number] = Sequence()
            if one(fields(one(packet, 59)), 58) != 3:
                raise Fault("times are not CLOCK_MONOTONIC")
        sequence = self.sequences[number]
        if 12 in packet:
            sequence.intern(fields(one(packet, 12)))
        if 6 in packet:
            snapshot = fields(one(packet, 6))
            self.clocks.append({one(clock, 1): one(clock, 2)
                                for clock in map(fields, snapshot[1])})
        if 60 in packet:
            descriptor = fields(one(packet, 60))
            uuid, track = one(descriptor, 1), Track(descriptor)
            if track.parent is not None and track.parent not in self.tracks:
                raise Fault(f"the track {track.name} is below none")
            if self.tracks.setdefault(uuid, track) != track:
                raise Fault(f"two tracks have the same number: {track.name}")
        if 11 in packet:
            events.append((one(packet, 8), fields(one(packet, 11)), sequence))
        if 66 in packet:
            sample = fields(one(packet, 66))
            self.samples.append(Sample(one(packet, 8), one(sample, 2), one(sample, 3),
                                       one(sample, 1), one(sample, 5),
                                       sequence.stack(one(sample, 4))))

    def event(self, at, event, sequence):
        uuid, kind = one(event, 11), one(event, 9)
        track, stack = self.tracks[uuid], self.open[uuid]
        if kind == END:
            if not stack:
                raise Fault(f"{at}: an end without a beginning on {track.name}")
            self.slices.append(stack.pop()._replace(end=at))
            return
        notes = {}
        for note in map(fields, event[4]):
            (number, value), = ((number, one(note, number)) for number in VALUES if number in note)
            notes[sequence.name(3, one(note, 1))] = (
                text(value) if number == 6 else signed(value) if number == 4 else value)
        name = sequence.name(2, one(event, 10)) if 10 in event else text(one(event, 23, b""))
        if kind == COUNTER:
            name = one(event, 30, 0)
        categories = [sequence.name(1, category) for category in event[3]]
        made = Event(track, categories[0] if categories else None, name, at, None, len(stack),
                     notes, sequence.stack(one(event, 56)), event[47], event[48])
        {BEGIN: stack, INSTANT: self.instants, COUNTER: self.counters}[kind].append(made)

    def thread_of(self, track):
        """The TID of a track's thread; None: the track belongs to no thread."""
        while track.tid is None and track.parent is not None:
            track = self.tracks[track.parent]
        return track.tid

    def find(self, kind, tid=None):
        """Slices of a kind, by time; perhaps only those of one thread."""
        found = [event for event in self.slices
                 if event.kind == kind and tid in (None, self.thread_of(event.track))]
        return sorted(found, key=lambda event: (event.at, event.depth))


def protoc(action, data):
    """Converts between a trace and its text form with protoc: action is "decode" or "encode"."""
    return subprocess.run([shutil.which("protoc"), f"--{action}=Trace", f"--proto_path={PROTO.parent}",
                           PROTO.name], input=data, capture_output=True, check=False)
