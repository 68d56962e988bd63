-- What every client program finds in its own, freshly created schema.
-- Statements are separated by blank lines, so that each program can send them one at a time.
CREATE TABLE everything (
  id INT PRIMARY KEY,
  tiny TINYINT,
  small SMALLINT UNSIGNED,
  medium MEDIUMINT,
  normal INT,
  big BIGINT,
  huge BIGINT UNSIGNED,
  exact DECIMAL(30,10),
  narrow FLOAT,
  wide DOUBLE,
  day DATE,
  moment DATETIME(6),
  stamp TIMESTAMP(3) NULL,
  clock TIME(6),
  era YEAR,
  bits BIT(12),
  document JSON,
  octets BLOB,
  words TEXT,
  fixed CHAR(5),
  label VARCHAR(40),
  choice ENUM('red', 'green', 'blue'),
  choices SET('a', 'b', 'c')
) DEFAULT CHARSET utf8mb4

INSERT INTO everything VALUES
  (1, 127, 65535, 8388607, 2147483647, 9223372036854775807, 18446744073709551615,
   12345678901234567890.0123456789, 1.5, 1.7976931348623157e308,
   '9999-12-31', '9999-12-31 23:59:59.999999', '2037-12-31 23:59:59.999', '23:59:59.999999', 2155,
   b'111111111111', '{"name": "pilot", "fish": [1, 2, null]}', x'00FF27225C0A0D1A',
   'Zürich 東京 🐟🚀', 'abcde', 'it''s "quoted" \\ here', 'blue', 'a,b,c'),
  (2, -128, 0, -8388608, -2147483648, -9223372036854775808, 0,
   -0.0000000001, -0.25, 2.2250738585072014e-308,
   '1000-01-01', '1000-01-01 00:00:00.000001', '1971-01-01 12:00:00.001', '00:00:00.000001', 1901,
   b'0', '[]', '', '', '', '', 'red', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)

CREATE TABLE ledger (
  id INT AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(40) NOT NULL UNIQUE,
  amount INT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET utf8mb4

CREATE TABLE archive (
  id INT PRIMARY KEY,
  body LONGBLOB
)

CREATE TABLE loaded (
  id INT PRIMARY KEY,
  name VARCHAR(60)
) DEFAULT CHARSET utf8mb4

CREATE TABLE digits (d INT PRIMARY KEY)

INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)

-- 200,000 rows of some 40 bytes: the big result.
CREATE VIEW numbers AS
  SELECT n, CONCAT('row ', n, ' ', REPEAT(SUBSTR('abcdefghijklmnopqrstuvwxyz', 1 + n MOD 26, 1), n MOD 40)) AS word,
         IF(n MOD 7 = 0, NULL, n DIV 7) AS seventh
  FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n
        FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.d < 2) AS counted

CREATE PROCEDURE describe_number(IN n INT, INOUT title VARCHAR(40), OUT doubled BIGINT)
BEGIN
  SELECT n AS number, title AS title;
  SELECT d FROM digits WHERE d < n ORDER BY d;
  SET doubled = 2 * n;
  SET title = CONCAT(title, ' 🐟');
END

CREATE PROCEDURE refuse()
BEGIN
  SELECT 'before the error' AS progress;
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused on purpose', MYSQL_ERRNO = 31001;
END
