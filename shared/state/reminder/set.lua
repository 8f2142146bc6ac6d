-- Sets a reminder of a chat, once per call of a tool, if this attempt still owns the turn.
-- KEYS  1 turn   2 reminders   3 reminders of the chat
-- ARGV  1 fencing token   2 numbers of the attempt's last confirmed and last sent write   3 call of the tool
--       4 member of the sorted set   5 id   6 reminder (JSON)   7 due time in ms   8 maximum number of reminders of a chat
--       9 maximum number of reminders of one message
-- Reply {'set', due time that the first run of the call set} | {'too many', ''}: the message has set its maximum
--       {'full', ''}: the chat has its maximum | {'fenced', ''}: another attempt took over, or Redis lost a write of this one
-- include: fence
if not begin_write(KEYS[1], ARGV[1], ARGV[2]) then
  return { 'fenced', '' }
end
local mark = 'reminder:' .. ARGV[3]
local first_due = redis.call('HGET', KEYS[1], mark)
if first_due then
  return { 'set', first_due }
end
if tonumber(redis.call('HGET', KEYS[1], 'remindersSet') or 0) >= tonumber(ARGV[9]) then
  return { 'too many', '' }
end
local reminders = 0
for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
  reminders = reminders + (field:find(':', 1, true) and 0 or 1)
end
if reminders >= tonumber(ARGV[8]) then
  return { 'full', '' }
end
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[7], ARGV[4])
redis.call('HINCRBY', KEYS[1], 'remindersSet', 1)
redis.call('HSET', KEYS[1], mark, ARGV[7])
return { 'set', ARGV[7] }
