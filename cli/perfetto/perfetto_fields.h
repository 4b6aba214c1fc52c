/* SPDX-License-Identifier: Apache-2.0 */
/* Field and enum numbers of Perfetto, from protos/perfetto/trace and below. The name of the
 * message precedes its fields. */
#ifndef PERFETTO_FIELDS_H
#define PERFETTO_FIELDS_H

/* Trace */
enum { TRACE_PACKET = 1 };

/* TracePacket */
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_FIRST_ON_SEQUENCE = 87,
};

/* TracePacket.SequenceFlags */
enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

/* TracePacketDefaults */
enum { DEFAULTS_TIMESTAMP_CLOCK_ID = 58 };

/* ClockSnapshot, ClockSnapshot.Clock, BuiltinClock */
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY_CLOCK = 2 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3 };

/* TrackDescriptor and its ChildTracksOrdering */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS_DESCRIPTOR = 3,
	TRACK_THREAD_DESCRIPTOR = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER_DESCRIPTOR = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_SIBLING_ORDER_RANK = 12,
};
enum { ORDERING_EXPLICIT = 3 };

/* ProcessDescriptor, ThreadDescriptor, CounterDescriptor and its Unit */
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3 };
enum { UNIT_COUNT = 2 };

/* TrackEvent and its Type */
enum {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_DEBUG_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_IDS = 47,
	EVENT_TERMINATING_FLOW_IDS = 48,
	EVENT_CALLSTACK_IID = 56,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* DebugAnnotation */
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
};

/* InternedData; EventCategory, EventName, DebugAnnotationName and InternedString share a layout */
enum {
	INTERNED_EVENT_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_MAPPINGS = 19,
};
enum { NAMED_IID = 1, NAMED_TEXT = 2 };

/* Mapping, Frame, Callstack */
enum { MAPPING_IID = 1, MAPPING_BUILD_ID = 2, MAPPING_PATH_STRING_IDS = 7 };
enum { FRAME_IID = 1, FRAME_FUNCTION_NAME_ID = 2, FRAME_MAPPING_ID = 3, FRAME_REL_PC = 4 };
enum { CALLSTACK_IID = 1, CALLSTACK_FRAME_IDS = 2 };

/* PerfSample, Profiling.CpuMode */
enum { PERF_CPU = 1, PERF_PID = 2, PERF_TID = 3, PERF_CALLSTACK_IID = 4, PERF_CPU_MODE = 5 };
enum { CPU_MODE_KERNEL = 1, CPU_MODE_USER = 2 };

#endif
