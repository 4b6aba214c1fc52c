-- SPDX-License-Identifier: Apache-2.0
-- Questions to the tables of many captures: see sql.rst.

-- 1. On which hosts were the processes kept from running most?
SELECT host, COUNT(*) AS samples, ROUND(100.0 * SUM(kept_ns) / SUM(busy_ns), 2) AS kept_percent
FROM samples
GROUP BY host
ORDER BY kept_percent DESC, host
LIMIT 5;

-- 2. Who is to blame, on how many hosts, and for how many seconds in all?
SELECT cause, who, COUNT(DISTINCT host) AS hosts, ROUND(SUM(ns) / 1e9, 3) AS seconds
FROM verdicts
WHERE blamed = 'true'
GROUP BY cause, who
ORDER BY seconds DESC, cause, who
LIMIT 5;

-- 3. Which system calls took longest, and where?
SELECT syscall, SUM(count) AS calls, MAX(longest_ns) AS longest_ns
FROM syscalls
GROUP BY syscall
ORDER BY longest_ns DESC, syscall
LIMIT 5;

-- 4. In which samples did a thread wait for a CPU longest at once?
SELECT t.host, s.number, t.thread, t.ready_max_ns
FROM threads AS t JOIN samples AS s ON s.host = t.host AND s.sample = t.sample
ORDER BY t.ready_max_ns DESC, t.host, s.number, t.thread
LIMIT 5;

-- 5. Who had the CPU while threads waited for it?
SELECT wait_for, COUNT(DISTINCT host) AS hosts, SUM(total_ns) AS total_ns, MAX(max_ns) AS longest_ns
FROM waits
WHERE state = 'ready'
GROUP BY wait_for
ORDER BY total_ns DESC, wait_for
LIMIT 5;
