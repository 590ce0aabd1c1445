"""Table E1: the schedule of each benchmark."""

from analysis.tables.schedule import ScheduleTable

TABLE_E1 = ScheduleTable(
    name="tableE1",
    title="Table E1: schedule of each benchmark",
    reported="tableE1_schedule.csv",
    source="Table E1",
)
