# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets and the variables.

RELEASE = 0.9

PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/kernel_delay
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system

CLANG ?= clang
PKG_CONFIG ?= pkg-config
BPF_CPU ?= v2
CFLAGS ?= -O2 -g
BUILD ?= build
GEN := $(BUILD)/gen

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:

ifeq ($(V),1)
say := @:
else
Q := @
say := @printf '  %-5s %s\n'
endif

all: $(BUILD)/kernel_delay

# --- What there is to build with ---

# Some distributions keep bpftool out of the users' PATH, and what is in PATH may
# be a wrapper around one that is not installed: take the first that works.
ifeq ($(origin BPFTOOL),undefined)
BPFTOOL := $(shell for tool in bpftool /usr/sbin/bpftool /sbin/bpftool /usr/local/sbin/bpftool \
	/usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; do \
	"$$tool" version >/dev/null 2>&1 && echo "$$tool" && break; done)
endif

MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(filter x86_64 aarch64,$(MACHINE))))

PURE_PACKAGES := libelf liblzma libunwind-generic libunwind libseccomp libcap-ng jansson zlib
# For --listen, which loads it at run time; without its headers that is refused.
HTTP := $(shell $(PKG_CONFIG) --exists 'libmicrohttpd >= 0.9.71' 2>/dev/null && echo libmicrohttpd)
PACKAGES := libbpf $(PURE_PACKAGES)
# Loaded at run time where it is needed; the version is that of the headers.
CAPSTONE_MAJOR := $(firstword $(subst ., ,$(shell $(PKG_CONFIG) --modversion capstone 2>/dev/null)))
# Without its macros, which would hide from other files what they use of the C library.
CURSES_CFLAGS := $(filter-out -D%,$(shell $(PKG_CONFIG) --cflags ncursesw 2>/dev/null))
PACKAGE_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) $(HTTP) 2>/dev/null) \
	$(shell $(PKG_CONFIG) --cflags capstone 2>/dev/null) -DCAPSTONE_MAJOR=$(CAPSTONE_MAJOR) \
	$(if $(HTTP),-DHAVE_MICROHTTPD) $(CURSES_CFLAGS)
PURE_LIBS := $(shell $(PKG_CONFIG) --libs $(PURE_PACKAGES) ncursesw 2>/dev/null) -liberty -lm
PACKAGE_LIBS := $(shell $(PKG_CONFIG) --libs libbpf 2>/dev/null) $(PURE_LIBS)

# tool: one of the binutils, as the compiler's are, which may be for another machine
tool = $(shell $(CC) -print-prog-name=$(1))

ifeq ($(STATIC),1)
# Everything is linked in, see `make static`. Distributions build the HTTP server with TLS; what it
# would use of that is one function that does nothing.
PACKAGE_CFLAGS += -DLINK_ALL
NO_TLS := $(shell $(call tool,nm) "$$($(CC) -print-file-name=libmicrohttpd.a)" 2>/dev/null | \
	sed -n 's/^ *U \(gnutls_.*\)/-Wl,--defsym=\1=no_tls/p' | sort -u)
PACKAGE_LIBS := -Wl,--start-group $(PACKAGE_LIBS) -lmicrohttpd -lcapstone -Wl,--end-group $(NO_TLS)
endif

comma := ,
command = $(if $(1),$(shell command -v $(firstword $(1)) 2>/dev/null))
package = $(shell $(PKG_CONFIG) --exists '$(1)' 2>/dev/null && echo yes)
# exports: whether the library $(2) has the function $(1), as far as can be told
exports = $(if $(call command,$(CC)),$(shell echo 'int $(1)(); int (*used)() = $(1); \
	int main(void) { return 0; }' | \
	$(CC) -w -fno-builtin -xc - $(2) -o /dev/null 2>/dev/null && echo yes),yes)
# need: $(1) is empty if there is no $(2)
need = $(if $(1),,$(eval MISSING := $(if $(MISSING),$(MISSING)$(comma) )$(2)))

BUILD_NOTHING := bench check check-all check-builds check-incidents check-kernels clean deb demo deps dist format help lint-quick map release rpm size test uninstall
ifneq ($(filter-out $(BUILD_NOTHING),$(or $(MAKECMDGOALS),all)),)
$(call need,$(call command,$(CC)),C compiler ($(CC)))
$(call need,$(call command,$(CLANG)),clang ($(CLANG)))
$(call need,$(call command,$(BPFTOOL)),bpftool)
$(call need,$(call command,$(PKG_CONFIG)),pkg-config ($(PKG_CONFIG)))
$(call need,$(call package,libbpf >= 1.1),libbpf >= 1.1)
$(call need,$(call package,libelf),libelf)
$(call need,$(call package,liblzma),liblzma)
$(call need,$(call package,libunwind-generic),libunwind)
$(call need,$(call package,libseccomp),libseccomp)
$(call need,$(call package,libcap-ng),libcap-ng)
$(call need,$(call package,jansson),jansson)
$(call need,$(call package,zlib),zlib)
$(call need,$(call package,ncursesw),ncursesw)
$(call need,$(call package,capstone >= 4.0),capstone >= 4.0)
$(call need,$(call exports,cplus_demangle,-liberty),libiberty)
# Which libunwind exports and does not declare, see cli/stack/unwind.c.
$(call need,$(call exports,_U$(MACHINE)_dwarf_search_unwind_table,-lunwind-generic -lunwind),\
	libunwind with dwarf_search_unwind_table)
ifdef MISSING
$(error cannot build without $(strip $(MISSING)): run `make deps`, which installs what is needed)
endif
ifeq ($(BPF_ARCH),)
$(error cannot build for $(or $(MACHINE),an unknown machine): only x86_64 and aarch64 are supported)
endif
endif

# --- Version: the checkout's, or that of the release that was unpacked here ---

ifneq ($(wildcard .git),)
TAG := $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null))
COMMIT := $(shell git describe --always --exclude '*' --dirty 2>/dev/null)
endif
VERSION := $(or $(TAG),$(file <.version),$(RELEASE)$(addprefix -g,$(COMMIT)))

# --- Flags ---

OPTIMISED := $(filter-out -O0,$(filter -O%,$(CFLAGS)))
FORTIFIED := $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS))
STRICT := $(if $(filter 1,$(WERROR)),-Werror)

# accepted: those of the flags $(1) that the compiler knows for this machine
accepted = $(foreach flag,$(1),$(shell $(CC) -Werror $(flag) -c -xc /dev/null -o /dev/null \
	2>/dev/null && echo $(flag)))
# Level 3 takes a compiler (gcc 12) and a C library (glibc 2.34) that have it.
FORTIFY_LEVEL := $(if $(filter 3,$(lastword $(shell echo __USE_FORTIFY_LEVEL | $(CC) -O2 \
	-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -include features.h -E -P -xc - 2>/dev/null))),3,2)
FORTIFY := $(if $(OPTIMISED),$(if $(FORTIFIED),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY_LEVEL)))
HARDENING := -fstack-protector-strong $(call accepted,-fstack-clash-protection -fcf-protection)

C_FLAGS := -std=gnu11 -Wall -Wextra -Wshadow $(call accepted,-Wformat-signedness) $(STRICT) \
	-iquote . -I$(GEN) -I$(BUILD) $(PACKAGE_CFLAGS) $(CPPFLAGS) $(CFLAGS)
# Of the program, for stacks as small as 64 KiB (ulimit -s).
FRAMES := $(call accepted,-Wframe-larger-than=20480)
CLI_FLAGS := -fPIE $(HARDENING) $(FORTIFY) $(C_FLAGS)
# No static-pie: libunwind.a is not made for that.
LINK_FLAGS := $(if $(filter 1,$(STATIC)),-static -no-pie,-pie) -pthread -Wl,-z,relro,-z,now $(CFLAGS) \
	$(LDFLAGS)
# To build what is not optimised takes half the time; for fuzzing at length the rest pays.
ASAN_FLAGS := -U_FORTIFY_SOURCE $(C_FLAGS) $(if $(filter fuzz,$(MAKECMDGOALS)),-O1,-O0) -g \
	-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
BPF_FLAGS := -target bpf -g -O2 -iquote . -mcpu=$(BPF_CPU) \
	-D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Wno-unused-parameter $(STRICT) $(PACKAGE_CFLAGS)
DEPENDENCIES = -MMD -MP -MT $@ -MF $@.d
# Where this directory is does not show in what is built, nor is it among the flags: a tree that
# was moved need not be built again.
PLACELESS := -ffile-prefix-map='$(CURDIR)'=.
# compile: runs a compiler, and keeps what it says for tests/builds/warnings.t
compile = $(Q)$(1) $(PLACELESS) 2>$@.said; status=$$?; cat $@.said >&2; exit $$status

# --- Stamps: their text is compared when make runs, and written if it differs ---

FLAGS_TEXT := $(strip $(CC) $(FRAMES) $(CLI_FLAGS) : $(LINK_FLAGS) $(PACKAGE_LIBS) : \
	$(CLANG) $(BPF_FLAGS) : $(BPFTOOL))
ifneq ($(file <$(BUILD)/flags),$(FLAGS_TEXT))
$(BUILD)/flags: FORCE
endif
$(BUILD)/flags: | $(GEN)
	$(file >$@,$(FLAGS_TEXT))

VERSION_TEXT := \#define KERNEL_DELAY_VERSION "$(VERSION)"
ifneq ($(file <$(GEN)/version.h),$(VERSION_TEXT))
$(GEN)/version.h: FORCE
endif
$(GEN)/version.h: | $(GEN)
	$(file >$@,$(VERSION_TEXT))

$(GEN) $(BUILD)/asan:
	@mkdir -p $@

# What is built with sanitizers serves fuzzing, too, where clang has libFuzzer for this machine. To
# find out takes a moment, so only who needs it does.
ifneq ($(filter unit fuzz fuzzers check-unit $(BUILD)/asan/% $(BUILD)/fuzz/%,$(MAKECMDGOALS)),)
HAS_FUZZER := $(shell echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	$(CLANG) -w -dumpmachine | grep -q '^$(MACHINE)-' && $(CLANG) -w \
	-fsanitize=fuzzer,address,undefined -xc - -o /dev/null 2>/dev/null && echo yes)
ASAN_CC := $(if $(HAS_FUZZER),$(CLANG) -Wno-unknown-warning-option \
	-fsanitize=fuzzer-no-link,$(CC))
# As gcc has it: the run time in a library of its own, so that programs are what is in their sources.
ASAN_RUN_TIME := $(if $(HAS_FUZZER),-shared-libasan -Wl$(comma)-rpath$(comma)$(shell $(CLANG) -print-runtime-dir))
ASAN_LINK := $(BUILD)/asan/libpure.so -Wl,-rpath,'$$ORIGIN/../asan:$$ORIGIN/..' \
	-Wl,--unresolved-symbols=ignore-in-shared-libs
ASAN_TEXT := $(strip $(ASAN_CC) $(ASAN_FLAGS))
ifneq ($(file <$(BUILD)/asan/flags),$(ASAN_TEXT))
$(BUILD)/asan/flags: FORCE
endif
endif
$(BUILD)/asan/flags: $(BUILD)/flags | $(BUILD)/asan
	$(file >$@,$(ASAN_TEXT))

# --- The program ---

CLI := $(wildcard cli/*.c cli/*/*.c cli/*/*/*.c probes/*.c probes/*/*.c)
SKELETONS := $(GEN)/kernel_delay.skel.h $(GEN)/kernel_delay_traces.skel.h $(GEN)/cost.skel.h
LIBBPF_USERS := $(shell grep -lE '<bpf/|\.skel\.h"' $(CLI) /dev/null)

$(BUILD)/kernel_delay: $(CLI:%.c=$(BUILD)/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(LINK_FLAGS) $^ -o $@ $(PACKAGE_LIBS)

$(CLI:%.c=$(BUILD)/%.o): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(call compile,$(CC) $(FRAMES) $(CLI_FLAGS) $(DEPENDENCIES) -c $< -o $@)

# What is made before it can be included; the rest is known from the second run on.
OBJECTS = $(1:%.c=$(BUILD)/%.o) $(1:%.c=$(BUILD)/asan/%.o)
$(call OBJECTS,$(LIBBPF_USERS)): | $(SKELETONS)
$(call OBJECTS,cli/base/syscall_set.c): | $(GEN)/syscall_table.inc
$(call OBJECTS,cli/model/wchan.c): $(GEN)/wchan_table.inc
$(call OBJECTS,cli/model/user_wait.c): $(GEN)/user_wait_table.inc
$(call OBJECTS,cli/options/options_table.c): | $(GEN)/version.h
$(call OBJECTS,cli/html/html.c): $(GEN)/html_page.inc

# The only user of KERNEL_DELAY_VERSION.
$(BUILD)/cli/options/options_table.o: CLI_FLAGS += -include $(GEN)/version.h
$(BUILD)/asan/cli/options/options_table.o: ASAN_FLAGS += -include $(GEN)/version.h

$(GEN)/syscall_table.inc: cli/base/syscall_table.sh cli/base/syscalls_arm.in $(BUILD)/flags
	$(say) GEN $@
	$(Q)CC="$(CC)" cli/base/syscall_table.sh $@

$(GEN)/%_table.inc: cli/model/%s.in cli/model/wait_table.sh $(BUILD)/flags
	$(say) GEN $@
	$(Q)cli/model/wait_table.sh $< $@

$(GEN)/html_page.inc: cli/html/page.sh $(wildcard cli/html/page/*) $(BUILD)/flags
	$(say) GEN $@
	$(Q)cli/html/page.sh $@

$(GEN)/%.bpf.o: bpf/%.bpf.c $(BUILD)/flags
	$(say) BPF $@
	$(call compile,$(CLANG) $(BPF_FLAGS) $(DEPENDENCIES) -c $< -o $@)

# Linking leaves out the DWARF, which is half of the object.
$(GEN)/%.linked.o: $(GEN)/%.bpf.o
	$(say) BPF $@
	$(Q)$(BPFTOOL) gen object $@ $<

$(GEN)/%.skel.h: $(GEN)/%.linked.o
	$(say) GEN $@
	$(Q)$(BPFTOOL) gen skeleton $< name $* >$@

# --- Tests ---

# What unit tests may be linked with: all that does not know libbpf.
PURE := $(filter-out cli/main.c $(LIBBPF_USERS),$(CLI))
UNIT := $(patsubst tests/%.c,%,$(wildcard tests/unit/test_*.c))
UNIT_PROGRAMS := $(UNIT:%=$(BUILD)/%) $(UNIT:%=$(BUILD)/asan/%)
# Those that are a VERB() of one program, and those that are a file with a main() of its own.
VERBS := $(shell sed -n 's/^VERB.\([a-z_]*\),.*/\1/p' tests/workloads/*.c)
VERB_FILES := $(shell grep -l '^VERB.' tests/workloads/*.c) tests/workloads/main.c \
	tests/workloads/stage.c
VERB_PROGRAMS := $(VERBS:%=$(BUILD)/workloads/%)
OTHER_WORKLOADS := $(patsubst tests/%.c,$(BUILD)/%, \
	$(filter-out $(VERB_FILES),$(wildcard tests/workloads/*.c)))

unit: $(UNIT_PROGRAMS)
workloads: $(VERB_PROGRAMS) $(OTHER_WORKLOADS) $(BUILD)/workloads/compat32

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/pure.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) TEST $@
	$(call compile,$(CC) $(CLI_FLAGS) $(DEPENDENCIES) $< $(BUILD)/pure.a -o $@ -pie $(LDFLAGS) $(PURE_LIBS))

# Around what a test itself has there have to be red zones, so that others' faults show.
$(BUILD)/asan/unit/%: tests/unit/%.c $(BUILD)/asan/libpure.so $(BUILD)/asan/flags
	@mkdir -p $(@D)
	$(say) TEST $@
	$(call compile,$(ASAN_CC) $(ASAN_FLAGS) -fno-sanitize=undefined $(DEPENDENCIES) $< -o $@ \
		$(ASAN_LINK) $(ASAN_RUN_TIME) $(LDFLAGS) $(PURE_LIBS))

# Where there is no libFuzzer they are empty; the test skips them, and says why.
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzzers: $(FUZZERS)
$(FUZZERS): $(BUILD)/fuzz/%: tests/fuzz/fuzz_%.c $(BUILD)/asan/libpure.so $(BUILD)/asan/flags
	@mkdir -p $(@D)
	$(say) TEST $@
	$(if $(HAS_FUZZER),$(call compile,$(ASAN_CC) -fsanitize=fuzzer $(ASAN_FLAGS) $(DEPENDENCIES) \
		$< -o $@ $(ASAN_LINK) $(LDFLAGS) $(PURE_LIBS)),$(Q): >$@)

# Writes sound inputs for some of them: `build/fuzz/seeds DIRECTORY`. Prints tables for the manual.
$(BUILD)/fuzz/seeds $(BUILD)/lint/fields: $(BUILD)/%: tests/%.c $(BUILD)/pure.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(call compile,$(CC) $(CLI_FLAGS) $(DEPENDENCIES) $< $(BUILD)/pure.a -o $@ -pie $(LDFLAGS) $(PURE_LIBS))

$(BUILD)/pure.a: $(PURE:%.c=$(BUILD)/%.o)
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# One library, with which each test's program is quickly linked. Functions that use libbpf are
# missing from it: no test calls what calls them.
$(BUILD)/asan/libpure.so: $(PURE:%.c=$(BUILD)/asan/%.o)
	$(say) LINK $@
	$(Q)$(ASAN_CC) $(ASAN_FLAGS) -shared -Wl,-soname,libpure.so $^ -o $@ $(LDFLAGS) $(PURE_LIBS)

$(CLI:%.c=$(BUILD)/asan/%.o): $(BUILD)/asan/%.o: %.c $(BUILD)/asan/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(call compile,$(ASAN_CC) $(ASAN_FLAGS) -fPIC $(DEPENDENCIES) -c $< -o $@)

$(OTHER_WORKLOADS): $(BUILD)/workloads/%: tests/workloads/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(call compile,$(CC) $(C_FLAGS) $(DEPENDENCIES) -pthread $< -o $@ $(LDFLAGS))

$(VERB_FILES:tests/%.c=$(BUILD)/%.o): $(BUILD)/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(call compile,$(CC) $(C_FLAGS) $(DEPENDENCIES) -pthread -c $< -o $@)

$(BUILD)/workloads/workload: $(VERB_FILES:tests/%.c=$(BUILD)/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -pthread $^ -o $@ $(LDFLAGS)

# The name of a verb is one more name of the file, which processes and mappings have, too. Of brood
# the test counts who else runs into a probe, so that is a file of its own.
$(VERB_PROGRAMS): $(BUILD)/workloads/workload
	$(Q)rm -f $@
	$(Q)$(if $(filter %/brood,$@),cp,ln) $< $@

# These were files once, and builds from then say that the programs depend on them.
$(filter-out $(VERB_FILES),$(VERBS:%=tests/workloads/%.c)): ;

# The same file in 32-bit mode. A compiler that makes no such programs leaves an empty file;
# the tests skip what needs it, and say why. For arm64 clang makes it, as gcc has no such mode there.
COMPAT_CC = $(if $(filter arm64,$(BPF_ARCH)),$(CLANG) --target=arm-linux-gnueabi \
	-fuse-ld=$(call tool,ld),$(CC) -m32)
$(BUILD)/workloads/compat32: tests/workloads/compat.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(COMPAT_CC) -O1 -nostdlib -static -ffreestanding -fno-pie -no-pie -fno-stack-protector \
		-o $@ $< 2>$@.why || : >$@

# All of this as a compiler sees it, with either kind of flags; nothing is made of it.
SYNTAX := $(patsubst %.c,$(BUILD)/%.syntax,$(CLI) $(UNIT:%=tests/%.c) \
	$(filter-out %.bpf.c,$(wildcard tests/workloads/*.c tests/fuzz/*.c tests/lint/*.c tests/bench/*.c)))
syntax: $(SYNTAX)
$(SYNTAX): $(BUILD)/%.syntax: %.c $(BUILD)/flags | $(SKELETONS) \
		$(GEN)/floor.skel.h $(GEN)/probe.skel.h $(GEN)/syscall_table.inc $(GEN)/wchan_table.inc $(GEN)/user_wait_table.inc \
		$(GEN)/html_page.inc \
		$(GEN)/version.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CLI_FLAGS) -include $(GEN)/version.h $(DEPENDENCIES) -fsyntax-only $<
	$(Q)$(CC) $(ASAN_FLAGS) -include $(GEN)/version.h -fsyntax-only $<
	@touch $@

# Parts of the BPF programs alone, which the kernel runs for a test.
BPF_TESTS := $(patsubst tests/bpf/%.bpf.c,$(BUILD)/bpf-tests/%,$(wildcard tests/bpf/*.bpf.c))

$(GEN)/%.bpf.o: tests/bpf/%.bpf.c $(BUILD)/flags
	$(say) BPF $@
	$(call compile,$(CLANG) $(BPF_FLAGS) -Wno-unused-function $(DEPENDENCIES) -c $< -o $@)

$(BPF_TESTS): $(BUILD)/bpf-tests/%: tests/bpf/%.c $(GEN)/%.skel.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) TEST $@
	$(call compile,$(CC) $(CLI_FLAGS) $(DEPENDENCIES) $< $(filter %.o %.a,$^) -o $@ -pie $(LDFLAGS) $(PACKAGE_LIBS))
$(BUILD)/bpf-tests/unfinished_record: $(BUILD)/cli/capture/session/rings.o $(BUILD)/pure.a

# What the benchmark measures with.
bench-programs: $(addprefix $(BUILD)/bench/,floor names path phases.so probe render stack_load \
	summarise timeline unwind_bench)

$(GEN)/%.bpf.o: tests/bench/%.bpf.c $(BUILD)/flags
	$(say) BPF $@
	$(call compile,$(CLANG) $(BPF_FLAGS) $(DEPENDENCIES) -c $< -o $@)

$(BUILD)/bench/floor: | $(GEN)/floor.skel.h
$(BUILD)/bench/probe: | $(GEN)/probe.skel.h
$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/pure.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CLI_FLAGS) $(DEPENDENCIES) $< $(BUILD)/pure.a -o $@ -pie $(LDFLAGS) $(PACKAGE_LIBS)

$(BUILD)/bench/%.so: tests/bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(C_FLAGS) $(DEPENDENCIES) -fPIC -shared $< -o $@ $(LDFLAGS)


# On all processors, unless make was told how many.
jobs = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# After `sudo make`, what was built belongs to the owner of the tree.
disown = $(if $(SUDO_UID),@chown -R --reference=. $(BUILD))

# What concerns the kernel that runs, and what the program does; the rest is about building it.
TESTS := $(sort $(wildcard tests/integration/*.t)) tests/incidents/blocked.t tests/fuzz/fuzz.t \
	$(BPF_TESTS)
BUILD_TESTS := $(sort $(wildcard tests/builds/*.t tests/lint/*.t))
# Fuzz tests make the same inputs in either build, so they are run with sanitizers.
SANITIZED := $(UNIT:%=$(BUILD)/asan/%)
PLAIN := $(filter-out %_fuzz,$(UNIT:%=$(BUILD)/%))

check-unit: unit
	@tests/run $(SANITIZED) $(PLAIN)

# Unit tests that leave the fuzzer of JSON their reports.
SEEDERS := $(filter %/test_text %/test_text_% %/test_replay_recording,$(SANITIZED))

# As the fuzz tests of check, for longer; what libFuzzer finds to be new is kept for the next time.
FUZZ_TIME ?= 60
FUZZ_ROUNDS ?= 1000000
fuzz: fuzzers $(filter %_fuzz,$(SANITIZED)) | $(SEEDERS)
	@FUZZ_TIME=$(FUZZ_TIME) FUZZ_CORPUS=$(BUILD)/fuzz/corpus tests/fuzz/fuzz.t $(TARGETS)
	@for test in $(if $(TARGETS),,$(filter %_fuzz,$(SANITIZED))); do \
		FUZZ_ROUNDS=$(FUZZ_ROUNDS) $$test || exit; done

size:
	@tests/lint/size.t --print

map:
	@tests/lint/map

lint: all $(BUILD)/lint/fields
	@tests/run $(sort $(wildcard tests/lint/*.t))

# Those that only read the tree, and nothing that a compiler makes of it.
lint-quick:
	@tests/run tests/lint/names.t tests/lint/includes.t tests/lint/circles.t tests/lint/size.t

# What unit tests write is what is expected from now on; shown is how that differs.
golden: $(sort $(patsubst tests/%.c,$(BUILD)/%,$(shell grep -l 'golden\.h\|report\.h' tests/unit/test_*.c)))
	@UPDATE_GOLDEN=1 tests/run $^
	@git --no-pager diff -- tests/golden

# Writes what of the schema and of the manual follows from the program's tables.
documents: all $(BUILD)/lint/fields
	@tests/lint/documents.py

# Without the sanitizers' builds, which show no more of what the tests themselves look at.
test:
	@tests/deps build check
	@$(MAKE) $(jobs) all $(UNIT:%=$(BUILD)/%) workloads $(BPF_TESTS) $(BUILD)/lint/fields
	$(disown)
	@tests/run --short $(UNIT:%=$(BUILD)/%) $(TESTS)
	$(disown)

check:
	@tests/deps build check
	@$(MAKE) $(jobs) all $(SANITIZED) workloads fuzzers $(BPF_TESTS) $(BUILD)/lint/fields
	$(disown)
	@tests/run $(SANITIZED) $(TESTS)
	$(disown)

check-builds:
	@tests/deps build check builds
	@$(MAKE) $(jobs) all unit workloads $(BUILD)/lint/fields
	$(disown)
	@tests/run $(PLAIN) $(BUILD_TESTS)
	$(disown)

check-kernels:
	@tests/deps build check kernels
	@$(MAKE) $(jobs) all workloads $(BUILD)/lint/fields
	$(disown)
	@tests/run tests/vm/kernels.t
	$(disown)

# One after the other: what each stages is to be the largest delay of its process.
INCIDENTS := $(sort $(wildcard tests/incidents/*.t))
check-incidents:
	@tests/deps build check incidents
	@$(MAKE) $(jobs) all workloads
	$(disown)
	@rm -rf $(BUILD)/tests/incidents
	@status=0; tests/run -j 1 $(INCIDENTS) || status=$$?; tests/incidents/table; exit $$status
	$(disown)

# Each part is run, whatever became of those before it.
check-all:
	@mkdir -p $(BUILD) && rm -f $(BUILD)/totals
	@for part in check check-builds check-kernels; do \
		TESTS_TOTALS=$(abspath $(BUILD)/totals) $(MAKE) $$part || bad=$$part; done; \
		tests/run --sum $(BUILD)/totals && test -z "$$bad"

same: all
	@tests/same $(BASE) $(BUILD)/kernel_delay

bench:
	@tests/deps build bench
	@$(MAKE) $(jobs) all workloads bench-programs
	$(disown)
	@tests/bench/run
	$(disown)

demo:
	@tests/deps build
	@$(MAKE) $(jobs) all $(BUILD)/workloads/demo
	$(disown)
	@tests/demo $(BUILD)/kernel_delay $(BUILD)/workloads/demo

# --- Packages ---

# What is committed, and .version, which says what that is where there is no git. The same commit
# makes the same file, byte for byte: all times are the commit's.
TARBALL := $(BUILD)/packages/kernel_delay-$(VERSION).tar.xz

dist: $(TARBALL)
$(TARBALL): FORCE
	$(if $(COMMIT),,$(error `make dist` packs what is committed: it takes a checkout))
	$(if $(findstring -dirty,$(VERSION)),$(error `make dist` packs what is committed: commit your changes first))
	@mkdir -p $(@D)
	$(say) DIST $@
	$(Q)echo $(VERSION) >$(@D)/.version
	$(Q)git archive --prefix=kernel_delay-$(VERSION)/ --add-file=$(@D)/.version HEAD | xz -T1 >$@
	$(Q)touch -d "$$(git log -1 --format=%cI)" $@

# One file for any Linux of this machine's kind, whatever C library is there.
ONE_FILE := $(BUILD)/packages/kernel_delay

static:
	@$(MAKE) $(jobs) BUILD=$(BUILD)/static STATIC=1 $(BUILD)/static/kernel_delay
	@mkdir -p $(dir $(ONE_FILE))
	$(Q)$(call tool,strip) -o $(ONE_FILE) $(BUILD)/static/kernel_delay
	@echo "  ONE FILE $(ONE_FILE)"

deb rpm: $(TARBALL)
	$(Q)examples/packaging/$@ $< $(BUILD)/packages/$@

release:
	$(Q)examples/packaging/release $(RELEASE) $(BUILD)/packages

# --- Everything else ---

deps:
	@tests/deps build

format:
	clang-format -i $(wildcard bpf/*.[ch] cli/*.[ch] cli/*/*.[ch] cli/*/*/*.[ch] probes/*.[ch] probes/*/*.[ch] tests/*/*.[ch])

INSTALL_MAN := $(wildcard man/*.8)
INSTALL_MAN5 := $(wildcard man/*.5)
INSTALL_SCHEMA := $(wildcard man/*.json)
INSTALL_DOC := $(wildcard README.rst LICENSE examples/packaging/NEWS.rst)
INSTALL_EXAMPLES := $(filter-out examples/packaging,$(wildcard examples/*))
INSTALL_LICENSES := $(wildcard LICENSES/*)
# install_files: mode, files (if any), directory
install_files = $(if $(2),@install -d "$(DESTDIR)$(3)" && \
	install -m $(1) $(2) "$(DESTDIR)$(3)" && echo "  INSTALL $(DESTDIR)$(3)")

install: all
	$(call install_files,755,$(BUILD)/kernel_delay,$(SBINDIR))
	$(call install_files,644,$(INSTALL_MAN),$(MANDIR)/man8)
	$(call install_files,644,$(INSTALL_MAN5),$(MANDIR)/man5)
	$(call install_files,644,$(INSTALL_DOC) $(INSTALL_SCHEMA),$(DOCDIR))
	$(call install_files,644,$(INSTALL_EXAMPLES),$(DOCDIR)/examples)
	$(call install_files,644,$(INSTALL_LICENSES),$(DOCDIR)/LICENSES)
	$(call install_files,644,cli/completion/_kernel_delay,$(ZSHDIR))
	$(call install_files,644,cli/completion/kernel_delay.fish,$(FISHDIR))
	@install -d "$(DESTDIR)$(COMPLETIONDIR)"
	@install -m 644 cli/completion/kernel_delay.bash "$(DESTDIR)$(COMPLETIONDIR)/kernel_delay"
	@echo "  INSTALL $(DESTDIR)$(COMPLETIONDIR)"
	@sed 's|/usr/local/sbin|$(SBINDIR)|' examples/kernel_delay.service >$(BUILD)/kernel_delay.service
	$(call install_files,644,$(BUILD)/kernel_delay.service,$(UNITDIR))

uninstall:
	rm -f "$(DESTDIR)$(SBINDIR)/kernel_delay" "$(DESTDIR)$(MANDIR)/man8/kernel_delay.8"
	rm -f $(patsubst man/%,"$(DESTDIR)$(MANDIR)/man5/%",$(INSTALL_MAN5))
	rm -f "$(DESTDIR)$(COMPLETIONDIR)/kernel_delay" "$(DESTDIR)$(ZSHDIR)/_kernel_delay"
	rm -f "$(DESTDIR)$(FISHDIR)/kernel_delay.fish" "$(DESTDIR)$(UNITDIR)/kernel_delay.service"
	rm -rf "$(DESTDIR)$(DOCDIR)"

clean:
	rm -rf $(BUILD)

define HELP
make              build $(BUILD)/kernel_delay
make deps         install what building needs (apt-get or dnf, with sudo if need be)
make demo         deps, build, and one sample of a bundled process (as root)
make install      into PREFIX ($(PREFIX)), below DESTDIR
make uninstall    undo that
make check        install what the tests need, build, and test what the program does with
                  this machine's kernel (as root)
make check-kernels  the same with other kernels, in virtual machines (as root);
                  `tests/vm/run 6.1 COMMAND...` runs one command in one
make check-builds  building: both compilers, other flags, `make install`; lint (as root)
make check-incidents  incidents in real programs, by what these say of themselves (as root)
make check-all    the three before that one
make test         check without sanitizers and without what takes long
make check-unit   the tests that need neither root nor network
make fuzz         fuzzing guided by coverage, FUZZ_TIME ($(FUZZ_TIME)) seconds for each of TARGETS
                  (all; make check: 2); then the other fuzz tests, FUZZ_ROUNDS ($(FUZZ_ROUNDS))
                  mutations each
make lint         style, includes, documents, warnings; `make lint-quick`: those that only read
make golden       after a change of reports: write what is expected anew, and show the difference
make documents    after a new row: write what of the JSON schema and of the manual pages
                  follows from the program's tables
make size         files and lines of each folder, and lines before (tests/lint/budgets)
make dist         a tarball of what is committed, from which a system without git builds
make deb          packages for Debian and Ubuntu from that; `make rpm`: for Fedora and RHEL.
                  They are in $(BUILD)/packages/
make release      check that all of a release is there, for a commit with its tag, and make its
                  tarball and checksums
make static       one file in $(BUILD)/packages/ that runs on any Linux of this machine's kind;
                  tests/vm/cross makes that, and other targets, for arm64 (in $(BUILD)/arm64)
make map          what each file of the program is about, in the words at its head
make bench        measure costs (as root); with BASE=PROGRAM also what events take more
                  than in that other build
make same         BASE=PROGRAM: says whether that other build does the same, byte for byte
make format       apply .clang-format
make clean        remove $(BUILD)

Variables: CC CLANG BPFTOOL PKG_CONFIG CPPFLAGS CFLAGS LDFLAGS BPF_CPU
  PREFIX SBINDIR MANDIR DOCDIR COMPLETIONDIR ZSHDIR FISHDIR UNITDIR DESTDIR BUILD
  V=1       show the commands
  WERROR=1  make warnings errors
endef

help:
	$(info $(HELP))
	@:

FORCE:
.PHONY: all unit workloads syntax test check check-all check-builds check-incidents check-kernels check-unit fuzz \
	fuzzers lint documents size same bench bench-programs dist deb release rpm static demo deps format install uninstall clean help FORCE

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
