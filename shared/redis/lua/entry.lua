-- A field of an entry, or of any flat list of names and values; nil when that name is missing.
local function field(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
end

-- The traceparent of a stream entry, and the id of the person who wrote it; '' for what it does not have.
local function origin_of(stream, entry)
  local found = redis.call('XRANGE', stream, entry, entry)
  local fields = found[1] and found[1][2] or {}
  local is_read, message = pcall(cjson.decode, field(fields, 'message') or '')
  local from = is_read and type(message) == 'table' and type(message.from) == 'table' and tonumber(message.from.id)
  return field(fields, 'traceparent') or '', from and string.format('%.0f', from) or ''
end

-- The fields of an entry, with its message as it was edited; `edited` is false where it was not.
local function as_edited(fields, edited)
  local copy = {}
  for i = 1, #fields, 2 do
    copy[i], copy[i + 1] = fields[i], edited and fields[i] == 'message' and edited or fields[i + 1]
  end
  return copy
end
