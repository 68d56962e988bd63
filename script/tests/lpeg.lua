-- The API of LPeg, as its users know it.
local lpeg = require("lpeg")
local P, S, R, V, C, Cc, Cp, Cs, Ct, Cg, Cb, Cf, Ca, Cmt, Carg =
  lpeg.P, lpeg.S, lpeg.R, lpeg.V, lpeg.C, lpeg.Cc, lpeg.Cp, lpeg.Cs, lpeg.Ct, lpeg.Cg, lpeg.Cb, lpeg.Cf,
  lpeg.Ca, lpeg.Cmt, lpeg.Carg
local match = lpeg.match

for _, name in ipairs{ "match", "print", "C", "Ca", "Cc", "Cp", "Cb", "Carg", "Cmt", "Cs", "Ct", "P", "R",
  "S", "V", "span", "type", "version" } do
  eq(type(lpeg[name]), "function", name)
end
eq(lpeg.type(P"a"), "pattern")
eq(lpeg.type("a"), nil)
eq(type(P"a"), "userdata")

-- Primitives: what is behind a match, or nil.
eq(match(P"ab", "abc"), 3)
eq(match(P"ab", "xab"), nil)
eq(match(P"b", "ab", 2), 3)
eq(match(P"c", "abc", -1), 4)
eq(match(P(2), "a"), nil)
eq(match(P(2), "ab"), 3)
eq(match(P(-1), ""), 1)
eq(match(P(-1), "a"), nil)
eq(match(P(true), ""), 1)
eq(match(P(false), ""), nil)
eq(match(S"abc", "c"), 2)
eq(match(R("az", "09"), "7"), 2)
eq(match(R"az", "A"), nil)
eq(match(P"\0\255", "\0\255"), 3)
eq(match("a", "a"), 2)
eq(P"a":match("a"), 2)
eq(match(lpeg.span"ab", "abbac"), 5)

-- Operators.
eq(match(P"a" * "b", "ab"), 3)
eq(match(P"a" + "b", "b"), 2)
eq(match(R"az" - P"q", "q"), nil)
eq(match(-P"a" * 1, "b"), 2)
eq(match(#P"a" * P(1), "a"), 2)
eq(match(#P"a" * P(1), "b"), nil)
eq(match(P"a" ^ 0, "aaab"), 4)
eq(match(P"a" ^ 2, "a"), nil)
eq(match(P"a" ^ 2, "aaa"), 4)
eq(match(P"a" ^ -2, "aaa"), 3)
eq(match(P"a" ^ -2, ""), 1)
eq(match(P(1) * lpeg.B("a") * "b", "ab"), 3)
fails("loop body may accept empty string", function() return P"" ^ 0 end)

-- Captures.
eq(match(C(R"az" ^ 1), "abc1"), "abc")
eq(select("#", match(C(1) * C(1), "ab")), 2)
eq(match(Cp() * P(1) * Cp(), "a"), 1)
eq(select(2, match(Cp() * P(1) * Cp(), "a")), 2)
eq(match(Cc("x", nil, 3), ""), "x")
eq(select("#", match(Cc("x", nil, 3), "")), 3)
eq(match(Carg(1), "", 1, "given"), "given")
fails("absent extra argument", match, Carg(2), "", 1, "given")
eq(match(P(1) / "<%0>", "a"), "<a>")
eq(match(C(1) * C(1) / "%2%1%%", "ab"), "ba%")
eq(match(P(1) / { a = "found" }, "a"), "found")
eq(match(P(1) / { a = "found" }, "b"), 2)
eq(match(C(P(1) ^ 1) / string.upper, "ab"), "AB")
eq(match(C(1) * C(1) / 2, "ab"), "b")
eq(match(Cs((P"a" / "b" + 1) ^ 0), "banana"), "bbnbnb")
local list = match(Ct(C(R"09" ^ 1) * ("," * C(R"09" ^ 1)) ^ 0), "1,22,333")
eq(table.concat(list, " "), "1 22 333")
local named = match(Ct(Cg(C(R"az" ^ 1), "key") * "=" * Cg(R"09" ^ 1, "value") * C(0)), "x=10")
eq(named.key, "x")
eq(named.value, "10")
eq(named[1], "")
eq(match(Cg(C(1), "q") * C(1) * Cb("q"), "ab"), "b")
eq(select(2, match(Cg(C(1), "q") * C(1) * Cb("q"), "ab")), "a")
fails("back reference 'none' not found", match, Cb("none"), "")
local number = R"09" ^ 1 / tonumber
eq(match(Cf(number * ("," * number) ^ 0, function(a, b) return a + b end), "1,2,39"), 42)
eq(match(Ca(number * ("," * number / function(a, b) return a * b end) ^ 0), "2,3,7"), 42)
-- A failed alternative leaves nothing.
eq(select("#", match((C"a" * C"b") + (C"a" * "c"), "ac")), 1)
eq(select("#", match((C"a" * "b") ^ 0 * C"a" * "c", "abac")), 2)
eq(match(-C"a" * C"b", "b"), "b")

-- Match-time captures say where to go on.
local twice = Cmt(C(R"az"), function(subject, at, letter)
  if subject:sub(at, at) == letter then return at + 1, letter .. letter end
end)
eq(match(twice, "aab"), "aa")
eq(match(twice, "ab"), nil)
eq(match(Cmt(P"ab", function(subject, at, all) return all == "ab" end), "ab"), 3)
eq(match(P(function(_, at) return at + 1 end), "x"), 2)
fails("invalid position", match, P(function() return 9 end), "x")

-- Grammars.
local balanced = P{ "(" * ((1 - S"()") + V(1)) ^ 0 * ")" }
eq(match(balanced, "(a(b)c)"), 8)
eq(match(balanced, "(a(b)c"), nil)
local sum = P{
  "sum",
  sum = V"product" * (S"+-" * V"product") ^ 0,
  product = V"value" * (S"*/" * V"value") ^ 0,
  value = R"09" ^ 1 + "(" * V"sum" * ")",
}
eq(match(sum * -1, "1+2*(3-4)"), 10)
eq(match(sum * -1, "1+2*(3-4"), nil)
fails("left recursive", P, { V(1) * "a" + "a" })
fails("left recursive", P, { "a", a = P"x" ^ -1 * V"b", b = V"a" })
fails("undefined in given grammar", P, { V"nowhere" })
fails("no initial rule", P, {})
fails("not in a grammar", match, V"x", "x")
fails("too many pending", match, P{ "(" * V(1) * ")" + "" }, ("("):rep(5000))
eq(match(P{ "a" * V(1) + "" }, ("a"):rep(500)), 501)
eq(match(P{ V"x" ^ 0, x = P"a" ^ -1 }, "aab"), 3)
-- A pattern stays what it was in another grammar.
eq(match(P{ balanced * V"x", x = P"x" }, "()x"), 4)

fails("string expected", match, P(1), {})
fails("pattern expected", match, nil, "a")
fails("invalid replacement", function() return P(1) / true end)
eq(match(lpeg.locale().alpha ^ 1, "abC1"), 4)
