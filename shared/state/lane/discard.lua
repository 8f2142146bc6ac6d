-- Settles as failed an entry that names no chat or that no turn can settle, stores its dead letter and queues an alert.
-- KEYS  1 inbound   2 outcomes   3 dead   4 alerts   5 counts   6 turn
-- ARGV  1 entry   2 group   3 ledger record (JSON)   4 alert (JSON)
-- Reply 1, or 0 if the entry has its outcome already
-- include: counts, entry
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
if not found[1] then
  redis.call('XACK', KEYS[1], ARGV[2], ARGV[1])
  return 0
end
count(KEYS[5], KEYS[1], 'settled')
redis.call('XADD', KEYS[3], '*', 'entry', ARGV[1], 'record', ARGV[3], unpack(as_edited(found[1][2], redis.call('HGET', KEYS[6], 'edited'))))
redis.call('XADD', KEYS[2], '*', 'outcome', 'failed', 'record', ARGV[3])
redis.call('XADD', KEYS[4], '*', 'alert', ARGV[4])
redis.call('XACK', KEYS[1], ARGV[2], ARGV[1])
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
