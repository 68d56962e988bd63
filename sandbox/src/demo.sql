-- A small world to play with. Every statement ends with a semicolon at the end of its line.
CREATE DATABASE demo CHARACTER SET utf8mb4;

CREATE TABLE demo.country (
    code char(3) NOT NULL PRIMARY KEY,
    name varchar(60) NOT NULL,
    continent enum('Africa', 'Asia', 'Europe', 'North America', 'Oceania', 'South America') NOT NULL,
    population int unsigned NOT NULL,
    KEY by_continent (continent)
) ENGINE = InnoDB;

CREATE TABLE demo.city (
    id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name varchar(60) NOT NULL,
    country char(3) NOT NULL,
    population int unsigned NOT NULL,
    KEY by_name (name),
    KEY by_country_and_population (country, population),
    CONSTRAINT city_lies_in FOREIGN KEY (country) REFERENCES demo.country (code)
) ENGINE = InnoDB;

INSERT INTO demo.country (code, name, continent, population) VALUES
    ('BRA', 'Brazil', 'South America', 203100000),
    ('DEU', 'Germany', 'Europe', 83300000),
    ('EGY', 'Egypt', 'Africa', 105200000),
    ('FIN', 'Finland', 'Europe', 5600000),
    ('IND', 'India', 'Asia', 1428600000),
    ('JPN', 'Japan', 'Asia', 124500000),
    ('MEX', 'Mexico', 'North America', 129700000),
    ('NZL', 'New Zealand', 'Oceania', 5200000),
    ('PRT', 'Portugal', 'Europe', 10500000),
    ('ZAF', 'South Africa', 'Africa', 62000000);

INSERT INTO demo.city (name, country, population) VALUES
    ('São Paulo', 'BRA', 11450000),
    ('Rio de Janeiro', 'BRA', 6210000),
    ('Berlin', 'DEU', 3760000),
    ('Hamburg', 'DEU', 1910000),
    ('München', 'DEU', 1510000),
    ('Cairo', 'EGY', 10100000),
    ('Alexandria', 'EGY', 5480000),
    ('Helsinki', 'FIN', 660000),
    ('Turku', 'FIN', 200000),
    ('Mumbai', 'IND', 12480000),
    ('Delhi', 'IND', 11030000),
    ('Chennai', 'IND', 4650000),
    ('東京', 'JPN', 9730000),
    ('大阪', 'JPN', 2750000),
    ('Ciudad de México', 'MEX', 9210000),
    ('Guadalajara', 'MEX', 1390000),
    ('Auckland', 'NZL', 1480000),
    ('Wellington', 'NZL', 210000),
    ('Lisboa', 'PRT', 550000),
    ('Porto', 'PRT', 230000),
    ('Cape Town', 'ZAF', 4770000),
    ('Johannesburg', 'ZAF', 4800000);
