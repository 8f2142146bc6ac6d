-- Records the pending message in its session, once, and loads the window that the model will see. Without a message it
-- only loads.
-- KEYS  1 turn   2 session   3 log
-- ARGV  1 fence   2 step   3 record (JSON), or ''   4 most bytes to load   5 number of this write, as in write.lua
--       6 index behind the newest record that the caller holds, or 0   7 SHA-1 of that record's line
--       8 index of the head that the caller holds, or -1
-- Reply {'fenced'} or
--       {'opened', records of the session, index of the first record loaded, index at which the window begins,
--        head record | '', {record, …}, index of the head | -1, index of the oldest record that may be shown,
--        index of the message | the number of records, 1 when what the caller holds stands in this log}
-- The head is the record that opens the window, a compaction or a seed; it is loaded whatever lies between.
-- All indexes count from the session's first record; the log begins behind those that are archived.
-- A log only grows at its end, and each line has an id of its own. So where the caller's newest line still stands in its
-- place, everything before it does, and neither these records nor the head that the caller holds are loaded again.
-- include: fence, window
if not begin_write(KEYS[1], ARGV[1], tonumber(ARGV[5])) then
  return { 'fenced' }
end
local keys = { turn = KEYS[1], session = KEYS[2], log = KEYS[3] }
return { 'opened', unpack(open_window(keys, ARGV[2], ARGV[3], ARGV[4], { ARGV[6], ARGV[7], ARGV[8] })) }
