# SPDX-License-Identifier: Apache-2.0
"""The report's section on distributions."""


def faults(thread, report, columns):
    """Distributions have as many durations as the other sections counted, plus those in flight: in
    full if they ended in the window, otherwise up to its end. The bars match the counts."""
    found = []
    lost = any("[DISTRIBUTIONS]" in text for text in report.warnings)
    counted = {"ready": thread.tables.get("THREAD READY STATISTICS"),
               "running": thread.tables.get("THREAD RUN STATISTICS"), **thread.calls}
    drawn = dict(thread.drawings)
    if list(drawn) != list(thread.distributions):
        found.append(f"drawn are {list(drawn)}, listed {list(thread.distributions)}")
    for name, row in thread.distributions.items():
        other, bars = counted.get(name), drawn.get(name, [])
        flights = [flight for flight in thread.flights + thread.periods if flight.name == name]
        count = other.get("count", other.get("sched_cnt")) if other else 0
        count += sum(flight.count for flight in flights)
        longest = max([flight.longest for flight in flights] + ([other.max] if other else [0]))
        still = [flight.longest for flight in flights if flight.end == "still open"]
        if row.count > count or row.count < count and not lost:
            found.append(f"{name}: {row} are not the durations of {other}, {flights}")
        elif row.max != longest or row.open_max and longest not in still:
            found.append(f"{name}: the longest is {row.max}, and {longest}")
        shares = [row[share] for share in columns]
        if shares != sorted(shares):
            found.append(f"{name}: {shares} do not ascend")
        if sum(bar.count for bar in bars) != row.count:
            found.append(f"{name}: {row.count}, drawn otherwise: {bars}")
        most = max((bar.count for bar in bars), default=1)
        if any(bar.stars != bar.count * 40 // most for bar in bars):
            found.append(f"{name}: bars are not in proportion: {bars}")
        if not bars or not bars[0].count or not bars[-1].count or row.max < bars[-1].low:
            found.append(f"{name}: drawn beyond what there is: {row}, {bars}")
    return found
